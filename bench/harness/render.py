"""A result as a table, for a terminal or in Markdown.

Pure: it reads nothing but the result, so the same JSON gives the same bytes. Texts of the result
are escaped: it may come from a stranger's pull request.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from typing import Any

from bench.harness import host
from bench.harness.plan import CONTROL
from bench.harness.result import read_json, user_path
from bench.harness.verdict import NOT_AVAILABLE

Json = dict[str, Any]

_SCALES = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))
# What means something in Markdown or HTML.
_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~$&]|://|www\.)")


def render(result: Json, style: str = "terminal") -> str:
    """The report.

    Args:
        result: as :func:`bench.harness.result.read_json` returns it.
        style: `terminal` or `markdown`.

    Returns:
        Text that ends with a newline.
    """
    markdown = style == "markdown"
    quote = escape_markdown if markdown else plain
    table = [[quote(cell) for cell in line] for line in _table(result)]
    lines = _markdown_table(table) if markdown else _terminal_table(table)
    notes = [quote(note) for note in _notes(result)]
    if markdown:
        notes = [f"* {note}" for note in notes]
    repeat = result["plan"].get("repeat", "")
    if repeat:
        notes.append(f"* repeat: {code_span(repeat)}" if markdown else f"repeat: {plain(repeat)}")
    return "\n".join([*lines, "", *notes]) + "\n"


def quantity(value: float, unit: str) -> str:
    """A figure with three significant digits and a readable unit.

    >>> quantity(0.00012345, "s"), quantity(1234.5, "images/s")
    ('123 us', '1234 images/s')
    """
    if unit == "s":
        name, scale = next((s for s in _SCALES if value >= s[1]), _SCALES[-1])
        return f"{_digits(value / scale)} {name}"
    return f"{_digits(value)} {unit}"


def _digits(value: float) -> str:
    """Three significant digits, never an exponent for everyday sizes."""
    if value >= 100.0:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10.0 else f"{value:.2f}"


def speed(comparison: Json) -> str:
    """A comparison in a cell: the speed ratio, its interval, its verdict.

    >>> speed({"verdict": "n/a"})
    'n/a'
    """
    if "speed" not in comparison or comparison["verdict"] == NOT_AVAILABLE:
        return str(comparison["verdict"])
    ends = [comparison["speed_low"], comparison["speed_high"]]
    low, high = ("?" if end is None else f"{end:.3f}" for end in ends)
    return f"{comparison['speed']:.3f}x [{low}, {high}] {comparison['verdict']}"


def _table(result: Json) -> list[list[str]]:
    plan, rows = result["plan"], result["rows"]
    controls = {v["candidate"] for v in plan["versus"] if v["role"] == CONTROL}
    variants = [
        name
        for name in dict.fromkeys(v for row in rows for v in row["variants"])
        if name not in controls
    ]
    versus = [v for v in plan["versus"] if v["role"] != CONTROL]
    targets = any(_wants(row) for row in rows)
    head = ["row", *variants]
    head += [f"speed {v['candidate']} / {v['reference']}" for v in versus]
    head += ["target"] * targets + ["pairs"] + [f"MiB {v}" for v in variants]
    body = []
    for row in rows:
        shown = [c for c in row["comparisons"] if c["role"] != CONTROL]
        cells = [row["title"]]
        cells += [_median(row, v) for v in variants]
        cells += [speed(c) for c in shown]
        cells += [_target(row, shown)] * targets
        cells.append(str(max([c.get("pairs", 0) for c in shown], default=0)))
        cells += [_memory(row, v) for v in variants]
        body.append(cells)
    return [head, *body]


def _median(row: Json, variant: str) -> str:
    """The median over processes, with the distance between the quartiles relative to it."""
    summary = row["variants"].get(variant)
    if not summary:
        return NOT_AVAILABLE
    spread = (summary["high"] - summary["low"]) / summary["median"]
    return f"{quantity(summary['median'], row['unit'])} (IQR {spread:.1%})"


def _memory(row: Json, variant: str) -> str:
    """Peak bytes: the allocators' where every variant tells, else resident beyond the import.

    The two are not mixed in a row: the first leaves out what a library keeps beside its tensors.
    """
    summaries = [summary for summary in row["variants"].values() if summary]
    everyone = all("peak_allocator_bytes" in summary for summary in summaries)
    figure = "peak_allocator_bytes" if everyone else "rss_beyond_import_bytes"
    held = (row["variants"].get(variant) or {}).get(figure)
    return NOT_AVAILABLE if held is None else f"{held / 2**20:.1f}"


def _wants(row: Json) -> bool:
    """Whether a row has a target or a limit."""
    goals = [row["target"], row.get("at_most"), *(c.get("wanted") for c in row["comparisons"])]
    return any(goal is not None for goal in goals)


def _target(row: Json, shown: Sequence[Json]) -> str:
    """What was wanted, and whether it was reached: a speed for each reference, and a limit."""
    said = [f"{c.get('wanted', row['target']):g}x {c['target']}" for c in shown if "target" in c]
    if row["target"] is not None and not said:
        said = [f"{row['target']:g}x {NOT_AVAILABLE}"]
    if "at_most" in row:
        said.append(f"at most {quantity(row['at_most'], row['unit'])} {row['limit']}")
    return ", ".join(said)


def _notes(result: Json) -> list[str]:
    plan, policy, state = result["plan"], result["plan"]["policy"], result["host"]
    notes = [
        f"status: {result['status']}",
        "speed: the reference's time over the candidate's, above 1 is faster; Hodges-Lehmann over "
        f"process pairs, {policy['confidence']:.0%} bootstrap interval; same: within "
        f"{policy['tolerance']:.1%}; chance of any false alarm: {policy['family_rate']:.1%}",
    ]
    for row in result["rows"]:
        for c in row["comparisons"]:
            if c["role"] == CONTROL:
                title = f"{row['title']}: {c['candidate']} / {c['reference']}"
                notes.append(f"control {title}: {speed(c)}")
    for failure in result["failures"]:
        where = f"{failure['program']}, {failure['variant']}, round {failure['round'] + 1}"
        notes.append(f"failed: {where}: {failure['kind']}: {failure['detail']}")
    notes += [f"{name}: {text}" for name, text in sorted(plan["labels"].items())]
    notes.append(f"host: {host.describe(state['identity'])}; {_load(state)}")
    notes += [f"host concern: {concern}" for concern in state["concerns"]]
    seconds = f"{result['seconds']:.0f} s" + (", interrupted" if result["interrupted"] else "")
    notes.append(f"measured: {result['started']}, {seconds}, seed {policy['seed']}")
    return notes


def _load(state: Json) -> str:
    loads = [state[when].get("load") for when in ("before", "after")]
    shown = ["unknown" if x is None else f"{x:.2f}" for x in loads]
    return f"load {shown[0]} before, {shown[1]} after"


def _terminal_table(table: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(line[i]) for line in table) for i in range(len(table[0]))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in table
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return lines


def _markdown_table(table: Sequence[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(line) + " |" for line in table]
    lines.insert(1, "|" + " --- |" * len(table[0]))
    return lines


def plain(text: str) -> str:
    """One line of printable characters: nothing that a terminal would obey."""
    return "".join(c if c.isprintable() else " " for c in text)


def escape_markdown(text: str) -> str:
    """The text itself, with no formatting and no link; a space of no width after @ tells nobody."""
    return _SPECIAL.sub(r"\\\1", plain(text)).replace("@", "@\u200b").replace("\\www.", "www\\.")


def code_span(text: str) -> str:
    """A code span, fenced by more backticks than the text has in a row."""
    clean = plain(text)
    longest = max((len(run) for run in re.findall(r"`+", clean)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if longest else ""
    return f"{fence}{pad}{clean}{pad}{fence}"


def main(argv: Sequence[str] | None = None) -> int:
    """Prints the report of a result file."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("result", type=user_path)
    parser.add_argument("--format", choices=("terminal", "markdown"), default="terminal")
    args = parser.parse_args(argv)
    try:
        result = read_json(args.result)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    sys.stdout.write(render(result, args.format))
    return 0


if __name__ == "__main__":
    sys.exit(main())
