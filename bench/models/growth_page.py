"""The report of //bench:growth: a table with the fits, and the picture of times and fits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from bench.harness.render import quantity
from bench.models.growth_fit import ALLOWED, Fit
from bench.models.page import markdown, terminal

Json = dict[str, Any]

_COLOURS = ("#1f6f8b", "#79b4c8", "#9a9a9a")
_SETTINGS: dict[str, Any] = {
    "svg.hashsalt": "bench",
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
_POWERS = ("", " x", " x²", " x³")


def render(result: Mapping[str, Any], style: str = "terminal") -> str:
    """The report; `style` is terminal or markdown. Ends with a newline."""
    head = ["cost over", "variant", "sizes", "time of a step", "fit, seconds"]
    head += ["of it at the largest size", "largest error", "last exponent", "promise"]
    table = [head, *(_line(row) for row in result["rows"])]
    lines = markdown(table) if style == "markdown" else terminal(table)
    bullet = "* " if style == "markdown" else ""
    return "\n".join([*lines, "", *(bullet + note for note in _notes(result))]) + "\n"


def _line(row: Mapping[str, Any]) -> list[str]:
    terms = [f"{term:.3g}{_POWERS[power]}" for power, term in enumerate(row["terms"]) if term > 0.0]
    shares = [
        f"{share:.0%}{_POWERS[power]}" for power, share in enumerate(row["shares"]) if share > 0.0
    ]
    last = row["exponent"]
    promise = "linear" if row["degree"] == 1 else "to the square"
    return [
        f"{row['axis']}, {row['model']}",
        row["variant"],
        ", ".join(map(str, row["sizes"])),
        ", ".join(quantity(s, "s") for s in row["seconds"]),
        " + ".join(terms),
        " + ".join(shares),
        f"{row['error']:.1%}",
        "-" if last is None else f"{last:.2f}",
        f"{promise}: {row['state']}",
    ]


def _notes(result: Mapping[str, Any]) -> list[str]:
    rounds = max((row["rounds"] for row in result["rows"]), default=0)
    out = [
        f"time: median over {rounds} rounds; fit: least relative squares, no negative term; the "
        f"promise holds where its largest relative error is at most {ALLOWED:.0%}",
        "cases: " + "; ".join(dict.fromkeys(row["cases"][-1] for row in result["rows"])),
    ]
    if result["controls"]:
        off = [abs(value - 1.0) for value in result["controls"].values()]
        out.append(f"control: a size against itself is off by at most {max(off):.1%}")
    for f in result["failures"]:
        out.append(f"failed: {f['program']}, {f['variant']}: {f['kind']}: {f['detail']}")
    out += [f"host concern: {text}" for text in result["host"]["concerns"]]
    name, seconds = result["host"]["name"], result["seconds"]
    out.append(f"{result['pytorch']}; {result['threads']} threads; host: {name}")
    out.append(f"measured {result['started']}, {seconds:.0f} s; repeat: {result['repeat']}")
    return out


def draw(result: Mapping[str, Any], path: Path) -> None:
    """Writes an SVG or PNG, by the path's ending; the same result gives the same bytes.

    A panel for each model and axis: medians with their range, and the fit as a line.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    panels = list(dict.fromkeys((row["model"], row["axis"]) for row in result["rows"]))
    with matplotlib.rc_context(_SETTINGS):
        size = (1.0 + 3.2 * max(1, len(panels)), 3.6)
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots(1, max(1, len(panels)), squeeze=False)[0]
        for panel, (model, axis) in zip(axes, panels):
            mine = [r for r in result["rows"] if (r["model"], r["axis"]) == (model, axis)]
            _panel(panel, mine, result["variants"])
            panel.set_title(f"{model}, {mine[0]['cases'][0].split(':')[-2]}")
            panel.set_xlabel(axis)
        axes[0].set_ylabel("seconds of a step")
        if panels:
            handles, labels = axes[0].get_legend_handles_labels()
            figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False)
        metadata = {"Date": None} if path.suffix == ".svg" else {"Software": None}
        figure.savefig(path, metadata=metadata)


def _panel(axes: Any, rows: list[Json], variants: list[str]) -> None:
    for row in rows:
        colour = _COLOURS[variants.index(row["variant"]) % len(_COLOURS)]
        middle = np.asarray(row["seconds"])
        ends = [middle - np.asarray(row["low"]), np.asarray(row["high"]) - middle]
        style = {"fmt": "o", "markersize": 4.0, "color": colour}
        axes.errorbar(row["sizes"], middle, yerr=ends, label=row["variant"], **style)
        found = Fit(tuple(row["terms"]), row["error"])
        line = np.linspace(0.0, max(row["sizes"]), 100)
        axes.plot(line, [found.at(x) for x in line], color=colour, linewidth=1.0)
    axes.set_xlim(left=0.0)
    axes.set_ylim(bottom=0.0)
