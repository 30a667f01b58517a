"""From the rounds that the harness collected to costs, and from costs to pairs. Pure.

A process counts once, by the median of its samples: steps of one process share its luck, so they
are no further evidence. A pair is two processes of one round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from bench.harness.analysis import paired
from bench.harness.estimate import spread
from ci.perf_bot.schema import FIRST, MEMORY, TIME

Json = dict[str, Any]
Costs = dict[int, float]


def cost_of(line: Mapping[str, Any], figure: str) -> float | None:
    """The cost of one process from its metric's line; None when it did not tell, or told 0.

    >>> cost_of({"samples": [2.0, 1.0, 9.0], "first": 4.0}, "time")
    2.0
    """
    value: Any = None
    if figure == TIME:
        value = median(line["samples"])
    elif figure == MEMORY:
        value = line.get("rss_beyond_import_bytes")
    elif figure == FIRST:
        value = line.get("first")
    return float(value) if value else None


def costs(rounds: Sequence[Json], program: str, metric: str, figure: str, variant: str) -> Costs:
    """The cost of one variant by round, where it delivered."""
    found: Costs = {}
    for item in rounds:
        line = item["runs"].get(variant, {}).get("metrics", {}).get(metric)
        if item["program"] == program and line is not None:
            if (cost := cost_of(line, figure)) is not None:
                found[item["round"]] = cost
    return found


def pairs(candidate: Costs, reference: Costs) -> list[float]:
    """Log ratios of the rounds in which both delivered, in the order of collection."""
    return paired(candidate, reference)


def summary(found: Costs) -> Json | None:
    """Median, quartiles and sum over processes; None when there is none."""
    if not found:
        return None
    values = list(found.values())
    over = spread(values)
    return {
        "processes": len(values),
        "median": over.median,
        "low": over.low,
        "high": over.high,
        "total": sum(values),
    }
