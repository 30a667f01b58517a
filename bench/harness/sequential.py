"""Error rates: how they are spent over looks, shared between rows, and how many pairs they ask for.

Looks. While a row is inconclusive, more pairs are collected and it is judged again. Each look j has
a weight w_j; the weights add up to 1. The *spent* p-value after k looks is the smallest p_j / w_j.
The chance that it is ever at most a is at most the sum of a w_j = a, by the union bound: no
assumption about how looks depend on each other, and none about why the collection stopped.

Rows. A spent p-value only falls while looks are added, and Holm's step-down rejects more when
p-values fall. So a row that was called stays called, and the chance that any row at all is called
without a cause stays within the family-wise rate, although rows stop at different times.

Source: Holm, A simple sequentially rejective multiple test procedure (1979).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from bench.harness.signed_rank import smallest_p


@dataclass(frozen=True)
class Schedule:
    """When to look, and what share of the error rate each look may spend.

    Attributes:
        pairs: pairs collected at each look, rising.
        weights: the shares; they add up to 1.
    """

    pairs: tuple[int, ...]
    weights: tuple[float, ...]

    def done(self, pairs: int) -> int:
        """How many looks this many pairs allow.

        >>> Schedule((10, 16), (0.5, 0.5)).done(12)
        1
        """
        return sum(1 for needed in self.pairs if needed <= pairs)


def minimum_pairs(rate: float, rows: int = 1, weight: float = 1.0) -> int:
    """The fewest pairs with which one row among ``rows`` can be called at all.

    Args:
        rate: the family-wise rate, between 0 and 1.
        rows: how many rows share it.
        weight: the first look's share of it.

    >>> minimum_pairs(0.002), minimum_pairs(0.002, rows=10)
    (10, 14)
    """
    _check_rate(rate)
    threshold = rate * weight / max(1, rows)
    pairs = max(1, math.ceil(1.0 - math.log2(threshold)))
    while smallest_p(pairs) > threshold:
        pairs += 1
    return pairs


def make_schedule(
    rate: float, rows: int, looks: int = 3, growth: float = 1.6, max_pairs: int | None = None
) -> Schedule:
    """Looks with equal weights; the first comes as early as a row can be called at all.

    Args:
        rate: the family-wise rate.
        rows: how many rows share it.
        looks: how many looks at most.
        growth: pairs at a look over pairs at the look before.
        max_pairs: an upper bound; looks past it are dropped, and their share with them, but never
            the first one, which goes to the minimum.

    >>> make_schedule(0.01, rows=1, looks=3).pairs
    (10, 16, 26)
    """
    weight = 1.0 / looks
    pairs = [minimum_pairs(rate, rows, weight)]
    while len(pairs) < looks:
        pairs.append(max(pairs[-1] + 1, math.ceil(pairs[-1] * growth)))
    kept = [n for n in pairs if max_pairs is None or n <= max_pairs] or pairs[:1]
    return Schedule(tuple(kept), (weight,) * len(kept))


def spent_p(p_values: Sequence[float], weights: Sequence[float]) -> float:
    """The p-value that stands after these looks, at most 1.

    >>> spent_p([0.02, 0.001], [0.5, 0.5])
    0.002
    """
    return min([1.0, *(p / w for p, w in zip(p_values, weights))])


def holm(p_values: Sequence[float], rows: int | None = None) -> list[float]:
    """Holm's adjusted p-values, in the order given; compare each with the family-wise rate.

    Args:
        p_values: one for each row.
        rows: how many rows were planned, when more than are given (the others count as 1).

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    total = max(len(p_values), rows or 0)
    adjusted, highest = [0.0] * len(p_values), 0.0
    for place, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (total - place) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def pairs_needed(spread: float, difference: float, rate: float, power: float) -> int:
    """About how many pairs find a difference: ``(z_rate/2 + z_power)^2 s^2 / d^2``.

    A rule of thumb from the normal test. The exact signed-rank test follows it for many pairs;
    where it asks for hardly more than :func:`minimum_pairs`, half as many again are needed (at
    0.7 %: 17 pairs for a power of 94 %, simulated).

    Args:
        spread: the standard deviation of a pair's log ratio.
        difference: the log ratio sought.
        rate: the false-alarm rate, two-sided.
        power: the chance of finding it.

    >>> pairs_needed(0.007, 0.01, 0.002, 0.95), pairs_needed(0.02, 0.01, 0.002, 0.95)
    (11, 90)
    """
    _check_rate(rate)
    quantile = NormalDist().inv_cdf
    reach = quantile(1.0 - rate / 2.0) + quantile(power)
    return max(1, math.ceil((reach * spread / difference) ** 2))


def _check_rate(rate: float) -> None:
    if not 0.0 < rate < 1.0:
        raise ValueError(f"[sequential] expects a rate between 0 and 1, got {rate}")
