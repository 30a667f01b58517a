"""The picture of a report: for each case what a step takes, beside what it cannot beat."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

_COLOURS = ("#1f6f8b", "#79b4c8", "#c98a3a", "#e3c08f", "#9a9a9a")
_SETTINGS: dict[str, Any] = {
    "svg.hashsalt": "bench",
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def draw(result: Mapping[str, Any], path: Path) -> None:
    """Writes an SVG or PNG, by the path's ending; the same result gives the same bytes.

    Bars are milliseconds of a sample, that batches stand side by side. A black line is the time of
    the convolutions and products alone, a dashed one that with the other layers' memory traffic.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(_SETTINGS):
        figure = make(result)
        metadata = {"Date": None} if path.suffix == ".svg" else {"Software": None}
        figure.savefig(path, metadata=metadata)


def make(result: Mapping[str, Any]) -> Figure:
    """The figure: one panel for each program."""
    panels: dict[str, list[Any]] = {}
    for row in result["rows"]:
        model, batch, *rest = row["case"].split(":")
        panels.setdefault(" ".join([model, *rest[-2:]]), []).append((batch, rest, row))
    figure = Figure(figsize=(2.0 + 2.2 * len(result["rows"]), 4.2), layout="constrained")
    widths = [len(rows) for rows in panels.values()]
    axes = figure.subplots(1, len(panels), squeeze=False, width_ratios=widths)[0]
    variants = [*result["modes"], *result["references"]]
    for panel, (name, rows) in zip(axes, panels.items()):
        _panel(panel, name, rows, variants)
    if len(axes):
        axes[0].set_ylabel("ms a sample")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)
    return figure


def _panel(axes: Any, name: str, rows: list[Any], variants: list[str]) -> None:
    width = 0.8 / max(1, len(variants))
    for number, variant in enumerate(variants):
        heights, places = [], []
        for place, (batch, _, row) in enumerate(rows):
            took = row["seconds"].get(variant)
            if took is not None:
                heights.append(1e3 * took / int(batch[1:]))
                places.append(place + width * (number - (len(variants) - 1) / 2))
        colour = _COLOURS[number % len(_COLOURS)]
        axes.bar(places, heights, width * 0.92, color=colour, label=variant)
    for place, (batch, _, row) in enumerate(rows):
        if row["alone"] is None:
            continue
        size = 1e3 / int(batch[1:])
        ends = (place - 0.42, place + 0.42)
        label = "products alone" if place == 0 else None
        axes.hlines(row["alone"] * size, *ends, color="black", label=label)
        if row["traffic"] is not None:
            label = "and traffic" if place == 0 else None
            level = (row["alone"] + row["traffic"]) * size
            axes.hlines(level, *ends, color="black", linestyle="--", linewidth=0.9, label=label)
    sizes = [" x ".join([batch[1:], *(s[1:] for s in rest[:-2])]) for batch, rest, _ in rows]
    axes.set_xticks(range(len(rows)), sizes)
    axes.set_xlabel("batch")
    axes.set_title(name)
