"""A result as the comment: Markdown. Pure: the same JSON gives the same bytes.

Above stands what decides: one line for the whole, a short table, what went wrong. Below, folded up,
stands OneFlow's own form, which people know, and how to read it all. Every text of the result is
escaped, for it may be a stranger's; links begin with the result's `repository` alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from bench.harness.render import code_span, escape_markdown, quantity
from ci.perf_bot.schema import (
    BASE,
    BASE_AGAIN,
    FAILED,
    FASTER,
    FIRST,
    HEAD,
    HOST_INVALID,
    INCONCLUSIVE,
    MEMORY,
    NOT_AVAILABLE,
    PYTORCH,
    SAME,
    SLOWER,
    TIME,
    VERDICTS,
)

Json = dict[str, Any]

LONGEST = 65_000  # characters; GitHub takes 65,536
MARKS = {
    SLOWER: "❌",
    FASTER: "🚀",
    SAME: "✅",
    INCONCLUSIVE: "❔",
    HOST_INVALID: "⚠️",
    FAILED: "💥",
    NOT_AVAILABLE: "➖",
}
# Memory is no speed.
_OF_MEMORY = {SLOWER: "more", FASTER: "less"}
_BARS = "▁▂▃▄▅▆▇█"
_TREND = 24  # commits of a sparkline
_PARTLY_OK = "✅ **No regression was found**; what is inconclusive may hide one."
_STATUS_LINES = {
    "ok": "✅ **No row is worse than its tolerance allows.**",
    "regression": "❌ **A regression was found.**",
    "nothing measured": "➖ **Nothing was measured.**",
    "infrastructure": "🔧 **The comparison failed, and not by the fault of this change.**",
    "broken": "💥 **A case crashes, hangs or answers wrongly with this change.**",
    "build failed": "💥 **This change does not build.**",
    "host invalid": "⚠️ **The host was not fit to measure on; the figures do not hold.**",
    "inconclusive": "❔ **Nothing could be decided: the host's noise hides the tolerance.**",
}


def render(result: Json, history: Sequence[Json] = ()) -> str:
    """The comment.

    Args:
        result: a checked result (:func:`ci.perf_bot.schema.read_result`).
        history: checked entries of the history, oldest first; they give the sparklines.

    Returns:
        Markdown of at most :data:`LONGEST` characters that ends with a line feed.
    """
    rows = result["rows"]
    top = [_heading(result), _verdict_lines(result)]
    if rows:
        top.append(_table(result, history))
    parts = ["\n\n".join(top)]
    parts += [_errors(result)] if result["errors"] else []
    parts += [_form(result)] if rows else []
    parts.append(_reading(result, bool(history)))
    return _fitted(parts)


def _fitted(parts: Sequence[str]) -> str:
    """The parts that fit, the first ones first; a last sentence says what is missing."""
    left, kept = LONGEST - 100, []
    for part in parts:
        if len(part) + 2 <= left:
            kept.append(part)
            left -= len(part) + 2
    if not kept:
        # Cut at a row of the table.
        kept.append(parts[0][:left].rpartition("\n")[0])
    if len(kept) < len(parts):
        kept.append("Some of it is left out here, for its length; the JSON has it all.")
    return "\n\n".join(kept) + "\n"


def _heading(result: Json) -> str:
    base, head = result["base"], result["head"]
    sides = [_link(result, side["commit"]) for side in (head, base)]
    names = [code_span(side["ref"]) for side in (head, base)]
    subject = escape_markdown(head["subject"])
    return (
        f"### Speed of {sides[0]} against {sides[1]}\n\n"
        f"head {names[0]}: {subject}  \nbase {names[1]}: {escape_markdown(base['subject'])}"
    )


def _link(result: Json, commit: str) -> str:
    short = f"`{commit[:10]}`"
    repository = result["repository"]
    return f"[{short}]({repository}/commit/{commit})" if repository else short


def _verdict_lines(result: Json) -> str:
    """The status, and how many comparisons got which verdict."""
    verdicts = [f["gate"]["verdict"] for row in result["rows"] for f in row["figures"].values()]
    counts = [f"{verdicts.count(v)} {v}" for v in VERDICTS if v in verdicts]
    partly = result["status"] == "ok" and INCONCLUSIVE in verdicts
    lines = [_PARTLY_OK if partly else _STATUS_LINES[result["status"]]]
    if counts:
        lines[0] += f" Of {len(verdicts)} comparisons (time, memory, first step): "
        lines[0] += ", ".join(counts) + "."
        rate = result["policy"]["family_rate"]
        lines.append(
            f"The verdict decides; the chance that any of these is called slower or faster without "
            f"a cause is at most {rate:.1%}. The ticks against PyTorch are information."
        )
    return "  \n".join(lines)


def _table(result: Json, history: Sequence[Json]) -> str:
    trend = any(_trend(row, history) for row in result["rows"])
    head = ["row", "base", "head", "speed head / base", "verdict", "peak MiB", "first step"]
    head += ["speed against PyTorch"] + ["trend"] * trend + ["repeat"]
    lines = [head, ["---"] * len(head)]
    for row in result["rows"]:
        time = row["figures"][TIME]
        cells = [escape_markdown(row["title"]), _cost(row, time, BASE), _cost(row, time, HEAD)]
        cells += [_speed(time["gate"]), _verdict(time["gate"]["verdict"], TIME)]
        cells += [_small(row, MEMORY), _small(row, FIRST), _against_pytorch(time)]
        cells += [_trend(row, history)] * trend + [code_span(row["repeat"])]
        lines.append(cells)
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cost(row: Json, figure: Json, variant: str) -> str:
    """The time of a step, and the throughput that it amounts to."""
    found = figure["variants"].get(variant)
    if not found:
        return NOT_AVAILABLE
    rate = row["items"] / found["median"]
    shown = f"{rate:.0f}" if rate >= 100.0 else f"{rate:.2f}"
    return f"{quantity(found['median'], 's')} ({shown} {escape_markdown(row['item'])}/s)"


def _speed(comparison: Json) -> str:
    """The reference's cost over the candidate's, with its interval: above 1 is faster.

    >>> _speed({"ratio": 0.5, "ratio_low": 0.4, "ratio_high": 0.8})
    '2.000x [1.250, 2.500]'
    """
    if comparison["ratio"] is None:
        return NOT_AVAILABLE
    ends = [comparison["ratio_high"], comparison["ratio_low"]]
    low, high = ("?" if end is None else f"{1.0 / end:.3f}" for end in ends)
    return f"{1.0 / comparison['ratio']:.3f}x [{low}, {high}]"


def _verdict(verdict: str, figure: str) -> str:
    word = _OF_MEMORY.get(verdict, verdict) if figure == MEMORY else verdict
    bold = f"**{word}**" if verdict in (SLOWER, FAILED) else word
    return f"{MARKS[verdict]} {bold}"


def _small(row: Json, name: str) -> str:
    """Memory or first step in one cell: head's figure, its change, its verdict."""
    figure = row["figures"].get(name)
    summary = figure and figure["variants"].get(HEAD)
    if not summary:
        return NOT_AVAILABLE
    if name == MEMORY:
        size = summary["median"] / 2**20
        shown = f"{size:.0f}" if size >= 100.0 else f"{size:.1f}"
    else:
        shown = quantity(summary["median"], "s")
    gate = figure["gate"]
    change = "" if gate["ratio"] is None else f" ({100.0 * (gate['ratio'] - 1.0):+.1f} %)"
    return f"{shown}{change} {_verdict(gate['verdict'], name)}"


def _against_pytorch(figure: Json) -> str:
    found = figure["pytorch"]
    if found is None or found["ratio"] is None:
        return NOT_AVAILABLE
    return f"{_tick(1.0 / found['ratio'])} {_speed(found)}"


def _tick(speed: float) -> str:
    return "✔️" if speed >= 1.0 else "❌"


def _trend(row: Json, history: Sequence[Json]) -> str:
    """A sparkline of the row's speed over commits, this head last; higher is faster."""
    points = [entry["rows"].get(row["case"], {}).get(TIME) for entry in history]
    known = [p for p in points if p][-_TREND:]
    now = row["figures"][TIME]
    head, torch = now["variants"].get(HEAD), now["variants"].get(PYTORCH)
    if not known:
        return ""
    # PyTorch in the same run takes the machine's mood out; without it, times must do.
    if torch and all(p["pytorch"] for p in known):
        speeds = [p["pytorch"] / p["median"] for p in known]
        last = torch["median"] / head["median"] if head else None
    else:
        speeds = [1.0 / p["median"] for p in known]
        last = 1.0 / head["median"] if head else None
    return sparkline([*speeds, last] if last else speeds)


def sparkline(values: Sequence[float]) -> str:
    """Bars for values: the lowest and the highest take the ends; equal ones stand in the middle.

    >>> sparkline([1.0, 2.0, 3.0]), sparkline([5.0, 5.0])
    ('▁▅█', '▄▄')
    """
    low, high = min(values), max(values)
    if high <= low:
        return _BARS[3] * len(values)
    steps = [(value - low) / (high - low) * (len(_BARS) - 1) for value in values]
    return "".join(_BARS[int(step + 0.5)] for step in steps)


def _errors(result: Json) -> str:
    """What went wrong: a line for each, the program's own words folded up below it."""
    lines = []
    for error in _distinct(result["errors"])[:20]:
        where = [escape_markdown(error[name]) for name in ("case", "side") if error[name]]
        if error["round"] is not None:
            where.append(f"round {error['round'] + 1}")
        begin = f"* {error['stage']}" + (f" ({', '.join(where)})" if where else "")
        first, _, rest = error["detail"].partition("\n")
        text = f"{begin}: **{error['kind']}**: {escape_markdown(first[:300])}"
        if rest.strip():
            text += f"\n{_folded('the end of its output', _fenced(rest[-2500:]))}\n"
        lines.append(text)
    if len(result["errors"]) > len(lines):
        lines.append(f"* and {len(result['errors']) - len(lines)} more in the JSON")
    return "#### What went wrong\n\n" + "\n".join(lines)


def _distinct(errors: Sequence[Json]) -> list[Json]:
    """Without repeats of the same failure in other rounds."""
    found: dict[tuple[Any, ...], Json] = {}
    for error in errors:
        found.setdefault(tuple(error[n] for n in ("stage", "side", "case", "kind")), error)
    return list(found.values())


def _fenced(text: str) -> str:
    """A block of code that its own text cannot end; nothing in it is a mention or a link."""
    clean = "".join(c if c.isprintable() or c == "\n" else " " for c in text).strip("\n")
    longest = max((len(run) for run in re.findall(r"`+", clean)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{clean}\n{fence}"


def _folded(title: str, body: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"


def _form(result: Json) -> str:
    """OneFlow's form: for each row its time, PyTorch's, and the ratio of the two."""
    host = result["host"]
    kind = "CPU" if host["device"] == "CPU" else "GPU"
    name = host["model"] if kind == "CPU" else host["device"]
    lines = [
        f"{kind} Name: {name}, {host['usable']} of {host['cores']} cores, "
        f"{host['threads']} threads, {_gib(host['memory_bytes'])}"
    ]
    for row in result["rows"]:
        lines += ["", *_form_row(row)]
    return _folded("OneFlow's form, with PyTorch beside it", _fenced("\n".join(lines)))


def _form_row(row: Json) -> list[str]:
    variants = row["figures"][TIME]["variants"]
    ours, theirs = variants.get(HEAD), variants.get(PYTORCH)
    if not ours:
        return [f"{MARKS[FAILED]} OneFlow {row['model']} time: not measured"]
    mean = [v["total"] / v["processes"] if v else 0.0 for v in (ours, theirs)]
    tick = _tick(mean[1] / mean[0]) if theirs else MARKS[NOT_AVAILABLE]
    lines = [f"{tick} OneFlow {row['model']} time: {_form_time(row, ours)}"]
    if theirs:
        shown = [_milliseconds(m) for m in reversed(mean)]
        lines.append(f"PyTorch {row['model']} time: {_form_time(row, theirs)}")
        lines.append(f"{tick} Relative speed: {mean[1] / mean[0]:.2f} (= {shown[0]} / {shown[1]})")
    return lines


def _form_time(row: Json, summary: Json) -> str:
    """`127.7ms (= 2043.2ms / 16, input_shape=[16, 3, 224, 224], backward is enabled)`; the sum is
    over processes, each of which counts by the median of its steps.
    """
    mean = summary["total"] / summary["processes"]
    more = [f"= {_milliseconds(summary['total'])} / {summary['processes']}"]
    if row["input_shape"]:
        more.append(f"input_shape={row['input_shape']}")
    more.append("backward is enabled" if row["backward"] else "backward is disabled")
    if row["processes"] > 1:
        more.append(f"ddp, world size={row['processes']}")
    return f"{_milliseconds(mean)} ({', '.join(more)})"


def _milliseconds(seconds: float) -> str:
    """One decimal, more for what is shorter than a millisecond.

    >>> _milliseconds(0.1277), _milliseconds(0.0000123)
    ('127.7ms', '0.0123ms')
    """
    value = 1e3 * seconds
    return f"{value:.1f}ms" if value >= 1.0 else f"{value:.4f}ms"


def _gib(size: int | None) -> str:
    return f"{size / 2**30:.0f} GiB" if size else "memory unknown"


def _reading(result: Json, history: bool) -> str:
    """How to read the comment, how sure it is, and what the machine did."""
    policy, host, budget = result["policy"], result["host"], result["budget"]
    pairs = ", ".join(map(str, policy["pairs"]))
    notes = [
        "Speed is the reference's time over the candidate's, above 1 is faster: Hodges-Lehmann "
        f"over pairs of processes, {policy['confidence']:.0%} bootstrap interval.",
        f"Verdicts: exact signed-rank test, Holm over {policy['comparisons']} comparisons, looks "
        f"at {pairs} pairs ({policy['minimum_pairs']} are needed at least). *same*: the interval "
        f"lies inside the tolerance ({_tolerances(result)}). *host invalid*: base against base "
        f"again differs (false alarms of that: {policy['control_rate']:.1%}), or others used the "
        "machine.",
    ]
    notes += [_found(result)] if result["rows"] else []
    notes += [_controls(result)] if result["rows"] else []
    if history:
        notes.append("Trend: speed over the last commits of master and this head; up is faster.")
    limit = "no limit" if budget["minutes"] is None else f"of {_minutes(budget['minutes'])}"
    notes += [
        f"Measured {result['started']}, {_minutes(result['seconds'] / 60.0)} in all; rounds took "
        f"{_minutes(budget['used_minutes'])} ({limit}), seed {result['seed']}.",
        f"The reference beside it: {escape_markdown(result['pytorch'])}.",
        f"Host: {escape_markdown(host['model'])}, kernel {escape_markdown(host['kernel'])}, Python "
        f"{escape_markdown(host['python'])}; {_moments(host)}.",
    ]
    notes += [f"Host concern: {escape_markdown(text)}." for text in host["concerns"]]
    notes.append(f"Repeat all: {code_span(result['repeat'])}")
    return _folded("How to read this", "\n".join(f"* {note}" for note in notes))


def _minutes(value: float) -> str:
    return f"{value:.0f} min" if value >= 10.0 else f"{value:.1f} min"


def _tolerances(result: Json) -> str:
    known = {n: f["tolerance"] for row in result["rows"] for n, f in row["figures"].items()}
    shown = [f"{_name(n)} {100.0 * known[n]:g} %" for n in (TIME, MEMORY, FIRST) if n in known]
    return ", ".join(shown) or "none was needed"


def _name(figure: str) -> str:
    return {FIRST: "first step"}.get(figure, figure)


def _found(result: Json) -> str:
    """What differences the pairs at hand would have found."""
    shown = [
        f"{escape_markdown(row['title'])} {100.0 * row['figures'][TIME]['resolvable']:.1f} %"
        for row in result["rows"]
        if row["figures"][TIME]["resolvable"] is not None
    ]
    return "Of the times, 95 of 100 differences as large as this are found: " + (
        "; ".join(shown) + "." if shown else "none, no look was reached."
    )


def _controls(result: Json) -> str:
    shown = [
        f"{escape_markdown(row['title'])} {_speed(row['figures'][TIME]['control'])} "
        f"{row['figures'][TIME]['control']['verdict']}"
        for row in result["rows"]
    ]
    return f"Controls ({BASE_AGAIN} / {BASE}): " + "; ".join(shown) + "."


def _moments(host: Mapping[str, Any]) -> str:
    """Load, clock, others' share: before, during, after."""
    texts = []
    for when in ("before", "during", "after"):
        moment = host[when]
        words = [] if moment["load"] is None else [f"load {moment['load']:.2f}"]
        words += [] if moment["mhz"] is None else [f"{moment['mhz']:.0f} MHz"]
        words += [] if moment["foreign"] is None else [f"others {moment['foreign']:.1%}"]
        words += [] if moment["steal"] is None else [f"stolen {moment['steal']:.1%}"]
        texts.append(f"{when} {', '.join(words) or 'unknown'}")
    return "; ".join(texts)
