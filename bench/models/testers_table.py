"""The testers' table and its files: throughput and peak memory by case and side. Pure but for the
files.

    Case | check_xx@2a23745 | master@a3841f5 | speed [interval] verdict
    ResNet50_DCcpu_FP32_mb16_gb16_acc1_1n1g | 12.80 / 1678 MiB | 12.75 / 1678 MiB | 1.004x ... same

Pictures are images a second, text is samples a second and says so. A speed is base's time over
head's, above 1 head is faster.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from bench.harness.sequential import minimum_pairs
from bench.models.cases import RESNETS, Case, parse

Json = dict[str, Any]
NOTHING = "n/a"
COLUMNS = (
    "case",
    "side",
    "seconds",
    "samples_per_second",
    "peak_mib",
    "processes",
    "speed",
    "speed_low",
    "speed_high",
    "verdict",
)


def throughput(case: Case, seconds: float) -> str:
    """Samples a second as the testers write it.

    >>> throughput(Case("resnet50", 16), 1.25), throughput(Case("bert-large", 1, 512), 0.5)
    ('12.80', '2.00 samples/s')
    """
    rate = case.batch / seconds
    return f"{rate:.2f}" if case.model in RESNETS else f"{rate:.2f} samples/s"


def render(result: Mapping[str, Any]) -> str:
    """The table, then what must be known to read it; ends with a newline."""
    sides: list[Json] = result["sides"]
    head = ["Case", *(side["label"] for side in sides)]
    labels = {side["name"]: side["label"] for side in sides}
    head += [f"speed {labels[one]} / {labels[other]}" for one, other in result["compared"]]
    lines = [" | ".join(head)]
    for row in result["rows"]:
        cells = [row["name"], *(_cell(row, side["name"]) for side in sides)]
        cells += [verdict(row["speed"].get(" / ".join(pair))) for pair in result["compared"]]
        lines.append(" | ".join(cells))
    return "\n".join([*lines, "", *_notes(result)]) + "\n"


def _cell(row: Mapping[str, Any], side: str) -> str:
    found = row["sides"].get(side)
    if found is None:
        return NOTHING
    mib = NOTHING if found["mib"] is None else f"{found['mib']:.0f} MiB"
    return f"{throughput(parse(row['case']), found['seconds'])} / {mib}"


def verdict(found: Mapping[str, Any] | None) -> str:
    """A comparison in a cell."""
    if found is None:
        return NOTHING
    if "speed" not in found:
        return str(found["verdict"])
    ends = [found["speed_low"], found["speed_high"]]
    # One pair has no interval.
    shown = "" if None in ends else f" [{ends[0]:.3f}, {ends[1]:.3f}]"
    return f"{found['speed']:.3f}x{shown} {found['verdict']}"


def _rounds(count: int) -> str:
    return "1 round" if count == 1 else f"{count} rounds"


def conclusion(result: Mapping[str, Any]) -> str:
    """The verdict on all rows in one line; "" where no commits are compared."""
    if ("head", "base") not in [tuple(pair) for pair in result["compared"]]:
        return ""
    found: dict[str, list[str]] = {}
    for row in result["rows"]:
        comparison = row["speed"].get("head / base")
        found.setdefault(comparison["verdict"] if comparison else NOTHING, []).append(row["name"])
    slower = found.pop("slower", [])
    if slower:
        return f"verdict: slower: {', '.join(slower)}"
    counts = ", ".join(f"{len(names)} {name}" for name, names in sorted(found.items()))
    decided = result["status"] == 0 and {"same", "faster"} & found.keys()
    return f"verdict: {'nothing slower' if decided else 'none'} ({counts})"


def _notes(result: Mapping[str, Any]) -> list[str]:
    out = []
    if result["compared"]:
        policy = result["policy"]
        out.append(
            "speed: the time of the second over that of the first in the same round, above 1 is "
            f"faster; 95 % bootstrap interval over {_rounds(policy['pairs'])}; same: within "
            f"{policy['tolerance']:.0%}; chance of any false alarm {policy['family_rate']:.0%}"
        )
        needed = minimum_pairs(policy["family_rate"], len(result["rows"]))
        if policy["pairs"] < needed:
            out.append(
                f"too few rounds to call anything slower or faster: {_rounds(policy['pairs'])} of "
                f"at least {needed}; --budget gives them time, --case and --mode leave rows out"
            )
    for row in result["rows"]:
        if row["control"] is not None:
            out.append(f"control {row['name']}: base against itself {verdict(row['control'])}")
    for case, item in result["checked"].items():
        flops = "not counted" if item["flops"] is None else f"{item['flops']:,}"
        out.append(f"checked before: {case}: operations a step {flops}")
        if item["variants"]:
            apart = max(worst["loss"] for worst in item["variants"].values())
            against = f"losses of three steps against {item['against']}"
            out[-1] += f"; {against}, {item['kind']}: {apart:.1e}"
    for f in result["failures"]:
        out.append(f"failed: {f['program']}, {f['variant']}: {f['kind']}: {f['detail']}")
    out += [f"{side['label']}: {side['about']}" for side in result["sides"] if side["about"]]
    out += [f"host concern: {text}" for text in result["host"]["concerns"]]
    name, seconds = result["host"]["name"], result["seconds"]
    out.append(f"host: {name}; measured {result['started']}, {seconds:.0f} s")
    out.append(f"repeat: {result['repeat']}")
    return [*out, *([said] if (said := conclusion(result)) else [])]


def make_rows(
    cases: Sequence[tuple[str, Case, str]],
    judged: Mapping[str, Json],
    sides: Sequence[str],
    peaks: Mapping[str, Mapping[str, int]],
) -> list[Json]:
    """The rows of the table.

    Args:
        cases: name of the harness's program, case and mode of each row.
        judged: the harness's rows by program and metric, joined by a line feed.
        sides: names of the variants that are shown.
        peaks: bytes by variant and case, of those that do not count them while they are timed.
    """
    rows = []
    for program, case, mode in cases:
        found = judged[f"{program}\n{case}"]
        row: Json = {
            "name": case.testers_name(mode),
            "case": str(case),
            "mode": mode,
            "sides": {side: _side(found, side, case, peaks) for side in sides},
            "speed": {},
            "control": None,
        }
        for item in found["comparisons"]:
            if item["role"] == "control":
                row["control"] = item
            else:
                row["speed"][f"{item['candidate']} / {item['reference']}"] = item
        rows.append(row)
    return rows


def _side(
    found: Mapping[str, Any], side: str, case: Case, peaks: Mapping[str, Mapping[str, int]]
) -> Json | None:
    summary = found["variants"].get(side)
    if summary is None:
        return None
    held = summary.get("peak_allocator_bytes", peaks.get(side, {}).get(str(case)))
    return {
        "seconds": summary["median"],
        "low": summary["low"],
        "high": summary["high"],
        "first": summary.get("first"),
        "processes": summary["processes"],
        "mib": None if held is None else held / 2**20,
    }


def write_csv(result: Mapping[str, Any], path: Path) -> None:
    """One line for each case and side; the comparison of the first side stands on its lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(COLUMNS)
        for row in result["rows"]:
            first: Json = next(iter(row["speed"].values()), {})
            for number, side in enumerate(result["sides"]):
                table.writerow(_csv_line(row, side, first if number == 0 else {}))


def _csv_line(
    row: Mapping[str, Any], side: Mapping[str, Any], speed: Mapping[str, Any]
) -> list[Any]:
    found = row["sides"].get(side["name"]) or {}
    seconds = found.get("seconds")
    rate = parse(row["case"]).batch / seconds if seconds else None
    figures = [seconds, rate, found.get("mib"), found.get("processes", 0)]
    figures += [speed.get(name) for name in ("speed", "speed_low", "speed_high")]
    shown = ["" if x is None or not math.isfinite(x) else f"{x:.6g}" for x in figures]
    return [row["name"], side["label"], *shown, speed.get("verdict", "")]


def write_plot(result: Mapping[str, Any], path: Path) -> None:
    """Bars of samples a second, a panel for each case; SVG or PNG by the path's ending."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = result["rows"]
    with matplotlib.rc_context({"svg.hashsalt": "testers", "font.size": 9.0}):
        figure = Figure(figsize=(7.0, 0.8 + 1.1 * len(rows)), layout="constrained")
        axes = figure.subplots(max(1, len(rows)), 1, squeeze=False)[:, 0]
        for panel, row in zip(axes, rows):
            _panel(panel, row, result["sides"])
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def _panel(axes: Any, row: Mapping[str, Any], sides: Sequence[Mapping[str, Any]]) -> None:
    batch = parse(row["case"]).batch
    for place, side in enumerate(reversed(sides)):
        found = row["sides"].get(side["name"])
        if found is None:
            continue
        rate = batch / found["seconds"]
        ends = [[rate - batch / found["high"]], [batch / found["low"] - rate]]
        axes.barh([place], [rate], xerr=ends, height=0.7, color="#79b4c8", ecolor="#444444")
    axes.set_yticks(range(len(sides)), [side["label"] for side in reversed(sides)])
    axes.set_title(row["name"], fontsize=8.0, loc="left")
    axes.set_xlabel("samples/s")
