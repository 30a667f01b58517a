"""Plots of a record: how far head is from base, and each process in the order of its round.

Each is an SVG and a PNG; the same record gives the same bytes under the same matplotlib.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from ci.perf_bot import extract
from ci.perf_bot.cases import Case, case_from_json
from ci.perf_bot.schema import (
    BASE,
    BASE_AGAIN,
    FASTER,
    HEAD,
    INCONCLUSIVE,
    PYTORCH,
    SAME,
    SLOWER,
    TIME,
    VARIANTS,
    ordered_figures,
)

Json = dict[str, Any]

_COLOURS = {SLOWER: "#c0392b", FASTER: "#27808d", SAME: "#4d8b31", INCONCLUSIVE: "#8a8a8a"}
_OTHER = "#b8860b"
_STYLES = {BASE: "o", BASE_AGAIN: "x", HEAD: "s", PYTORCH: "^"}
_SETTINGS: dict[str, Any] = {
    "svg.hashsalt": "perf_bot",
    "svg.fonttype": "path",
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def write_plots(folder: Path, result: Json, record: Mapping[str, Any]) -> list[Path]:
    """Writes all plots; the paths written."""
    cases = [case_from_json(case) for case in record["cases"]]
    if not cases:
        return []
    folder.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(_SETTINGS):
        made = _save(ratios(result["rows"]), folder / "ratios")
        for case in cases:
            made += _save(rounds(case, record["rounds"]), folder / case.name.replace("/", "-"))
    return made


def ratios(rows: Sequence[Json]) -> Figure:
    """Head's cost over base's with its interval, for each figure of each row."""
    shown = [(row, name, f) for row in rows for name, f in ordered_figures(row)]
    figure = Figure(figsize=(7.0, 1.2 + 0.32 * len(shown)), layout="constrained")
    axes = figure.add_subplot()
    for place, (_, _, item) in enumerate(reversed(shown)):
        gate, tolerance = item["gate"], 100.0 * item["tolerance"]
        axes.barh(place, 2.0 * tolerance, 0.5, -tolerance, color="#e4e4e4", zorder=0)
        if gate["ratio"] is None:
            continue
        ends = [gate[name] or gate["ratio"] for name in ("ratio_low", "ratio_high")]
        colour = _COLOURS.get(gate["verdict"], _OTHER)
        axes.plot([100.0 * (end - 1.0) for end in ends], [place, place], color=colour)
        axes.plot([100.0 * (gate["ratio"] - 1.0)], [place], "o", color=colour, markersize=4.0)
    axes.axvline(0.0, color="#444444", linewidth=0.8)
    axes.set_yticks(
        range(len(shown)), [f"{row['case']}: {name}" for row, name, _ in reversed(shown)]
    )
    axes.set_xlabel("head against base, % (right is worse; the bar is the tolerance)")
    return figure


def rounds(case: Case, collected: Sequence[Json]) -> Figure:
    """The time of each process by round."""
    figure = Figure(figsize=(7.0, 3.0), layout="constrained")
    axes = figure.add_subplot()
    for variant in VARIANTS:
        found = extract.costs(collected, case.program, case.metric, TIME, variant)
        if found:
            label, style = variant, _STYLES[variant]
            axes.plot(
                [number + 1 for number in found],
                [1e3 * cost for cost in found.values()],
                style,
                label=label,
                markersize=4.0,
                fillstyle="none",
            )
    axes.set_title(case.title)
    axes.set_xlabel("round")
    axes.set_ylabel("ms for a step")
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())
    if axes.lines:
        axes.legend(frameon=False, fontsize=8.0)
    return figure


def _save(figure: Figure, path: Path) -> list[Path]:
    """As SVG and PNG, without dates."""
    made = [path.with_name(path.name + suffix) for suffix in (".svg", ".png")]
    figure.savefig(made[0], metadata={"Date": None, "Creator": None})
    figure.savefig(made[1], dpi=110, metadata={"Software": None})
    return made
