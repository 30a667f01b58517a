"""The page of trends: one HTML file that opens from `file://`, with nothing loaded. Pure.

A plot for each figure of each case, drawn as SVG: the medians over commits with their quartiles,
PyTorch of the same runs beside them, and a mark where a commit was called slower or faster. There
is no script; a commit's text shows when its point is pointed at. All texts are escaped.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import Any

from bench.harness.render import quantity
from ci.perf_bot.schema import FASTER, FIGURES, FIRST, MEMORY, SLOWER, TIME, UNITS

Json = dict[str, Any]

WIDTH, HEIGHT = 560.0, 170.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 74.0, 12.0, 12.0, 22.0
_TITLES = {TIME: "time of a step", MEMORY: "peak memory", FIRST: "time of the first step"}
_STYLE = """
body { font: 14px/1.45 system-ui, sans-serif; margin: 24px auto; max-width: 1180px; color: #222; }
h2 { margin: 28px 0 4px; font-size: 17px; } figure { display: inline-block; margin: 6px 8px 6px 0; }
figcaption { font-size: 12px; color: #555; } table { border-collapse: collapse; font-size: 13px; }
td, th { padding: 2px 10px 2px 0; text-align: left; vertical-align: top; }
svg { background: #fafafa; }
.ours { stroke: #1f6f8b; fill: #1f6f8b; } .theirs { stroke: #b0b0b0; fill: #b0b0b0; }
.line { fill: none; stroke-width: 1.5; } .band { fill: #1f6f8b; fill-opacity: 0.15; stroke: none; }
.slower { fill: #c0392b; stroke: #c0392b; } .faster { fill: #4d8b31; stroke: #4d8b31; }
.grid { stroke: #ddd; } text { font: 11px system-ui, sans-serif; fill: #555; }
"""


def render_page(entries: Sequence[Json]) -> str:
    """The page of a history, whose entries are checked; oldest first."""
    cases = sorted({case for entry in entries for case in entry["rows"]}, key=_natural)
    body = ["<h1>Speed by commit of master</h1>", _legend(entries)]
    for case in cases:
        body.append(f"<h2>{html.escape(case)}</h2>")
        body += [_plot(entries, case, figure) for figure in FIGURES]
    body += ["<h2>Commits</h2>", _commits(entries)]
    text = "\n".join(part for part in body if part)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>Speed by commit</title>\n<style>{_STYLE}</style></head>\n<body>\n{text}\n"
        "</body></html>\n"
    )


def _natural(name: str) -> list[tuple[str, int]]:
    """A key that puts `x/2` before `x/16`."""
    return [(text, int(part or 0)) for text, part in re.findall(r"(\D*)(\d*)", name)]


def _legend(entries: Sequence[Json]) -> str:
    hosts = list(dict.fromkeys(entry["host"] for entry in entries))
    known = "; ".join(html.escape(host) for host in hosts[:8]) or "none"
    return (
        f"<p>{len(entries)} commits, oldest at the left. Blue: median over processes, the band "
        "its quartiles. Grey: PyTorch in the same run. A red point was called slower than its "
        "parent, a green one faster; that verdict compares the two in one run, so it holds where "
        f"the machines of neighbours differ. Machines: {known}.</p>"
    )


def _plot(entries: Sequence[Json], case: str, figure: str) -> str:
    """One figure of one case over all commits; nothing when no commit has it."""
    found = [
        (place, entry, entry["rows"][case][figure])
        for place, entry in enumerate(entries)
        if figure in entry["rows"].get(case, {})
    ]
    if not found:
        return ""
    costs = [item[name] for _, _, item in found for name in ("low", "median", "high")]
    costs += [item["pytorch"] for _, _, item in found if item["pytorch"] is not None]
    scale = _Scale(len(entries), 0.0, 1.08 * max(costs))
    parts = [_grid(scale, figure)]
    parts.append(_band(scale, found))
    theirs = [(p, item["pytorch"]) for p, _, item in found if item["pytorch"] is not None]
    parts.append(_line(scale, theirs, "theirs"))
    parts.append(_line(scale, [(p, item["median"]) for p, _, item in found], "ours"))
    parts += [_point(scale, place, entry, item, figure) for place, entry, item in found]
    drawing = "".join(parts)
    size = f'width="{WIDTH:.0f}" height="{HEIGHT:.0f}" viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}"'
    return (
        f'<figure><svg {size} role="img">{drawing}</svg>'
        f"<figcaption>{_TITLES[figure]}</figcaption></figure>"
    )


class _Scale:
    """From places and costs to the drawing."""

    def __init__(self, count: int, low: float, high: float) -> None:
        self.count, self.low, self.high = count, low, high

    def x(self, place: int) -> float:
        """A place's x."""
        inner = WIDTH - _LEFT - _RIGHT
        return _LEFT + inner * (place + 0.5) / self.count

    def y(self, cost: float) -> float:
        """A cost's y; costs grow upwards."""
        inner = HEIGHT - _TOP - _BOTTOM
        return _TOP + inner * (1.0 - (cost - self.low) / (self.high - self.low))


def _grid(scale: _Scale, figure: str) -> str:
    parts = []
    for step in range(5):
        cost = scale.low + (scale.high - scale.low) * step / 4.0
        y = scale.y(cost)
        parts.append(f'<path class="grid" d="M{_LEFT:.1f} {y:.1f}H{WIDTH - _RIGHT:.1f}"/>')
        label = html.escape(_shown(cost, figure))
        parts.append(f'<text x="{_LEFT - 6:.1f}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
    return "".join(parts)


def _shown(cost: float, figure: str) -> str:
    if UNITS[figure] == "bytes":
        return f"{cost / 2**20:.1f} MiB"
    return "0" if cost == 0.0 else quantity(cost, "s")


def _line(scale: _Scale, points: Sequence[tuple[int, float]], name: str) -> str:
    if not points:
        return ""
    path = "L".join(f"{scale.x(place):.1f} {scale.y(cost):.1f}" for place, cost in points)
    return f'<path class="line {name}" d="M{path}"/>'


def _band(scale: _Scale, found: Sequence[tuple[int, Json, Json]]) -> str:
    upper = [f"{scale.x(p):.1f} {scale.y(item['high']):.1f}" for p, _, item in found]
    lower = [f"{scale.x(p):.1f} {scale.y(item['low']):.1f}" for p, _, item in reversed(found)]
    return f'<path class="band" d="M{"L".join([*upper, *lower])}Z"/>'


def _point(scale: _Scale, place: int, entry: Json, item: Json, figure: str) -> str:
    kind = item["verdict"] if item["verdict"] in (SLOWER, FASTER) else "ours"
    change = "" if item["ratio"] is None else f", {100.0 * (item['ratio'] - 1.0):+.1f} % to parent"
    text = (
        f"{entry['commit'][:10]} {entry['subject']}\n{entry['time']}\n"
        f"{_shown(item['median'], figure)}{change}, {item['verdict']}"
    )
    x, y = scale.x(place), scale.y(item["median"])
    radius = 3.0 if kind == "ours" else 4.5
    title = f"<title>{html.escape(text)}</title>"
    return f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}">{title}</circle>'


def _commits(entries: Sequence[Json]) -> str:
    """A table of the last commits, newest first."""
    lines = ["<tr><th>commit</th><th>time</th><th>status</th><th>subject</th></tr>"]
    for entry in reversed(entries[-200:]):
        cells = [entry["commit"][:10], entry["time"], entry["status"], entry["subject"]]
        lines.append("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in cells) + "</tr>")
    return "<table>" + "\n".join(lines) + "</table>"
