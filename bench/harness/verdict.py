"""From log ratios to one of the verdicts.

The rule, in this order:

1. *host invalid*: the row's control (base against base again) was itself called slower or faster,
   by the same rule, at the control's family-wise rate. That rate is set higher than the alarm's,
   so the control notices a biased host more readily than the alarm does.
2. *same*: the interval lies inside the tolerance.
3. *slower*, *faster*: Holm's adjusted, spent p-value is at most the family-wise rate, and the
   interval lies on that side of zero.
4. *inconclusive*: none of these; collect more pairs.

"The interval" means both of two: the bootstrap interval, which is shown, and the exact signed-rank
interval at the look's share of the error, which is what bounds a wrong *same*. A shown interval
thus never contradicts the verdict beside it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bench.harness.estimate import (
    Floats,
    FloatsLike,
    Interval,
    bootstrap_interval,
    hodges_lehmann,
    spread,
)
from bench.harness.sequential import Schedule, holm, make_schedule, spent_p
from bench.harness.signed_rank import signed_rank_interval, signed_rank_p

SLOWER, FASTER, SAME, INCONCLUSIVE = "slower", "faster", "same", "inconclusive"
HOST_INVALID, NOT_AVAILABLE, FAILED = "host invalid", "n/a", "failed"
VERDICTS = (SLOWER, FASTER, SAME, INCONCLUSIVE, HOST_INVALID, NOT_AVAILABLE, FAILED)


@dataclass(frozen=True)
class Policy:
    """What counts as a difference, and how often the harness may be wrong.

    Attributes:
        family_rate: chance that any row at all is called slower or faster although none changed.
        control_rate: the same for the controls, that is for "host invalid".
        confidence: of the interval shown, and of "same" over all looks of a row.
        tolerance: relative difference that nobody minds; 0.01 is 1 %.
        looks: how often a row may be judged.
        growth: pairs at a look over pairs at the look before.
        max_pairs: bound on the pairs of a row; None leaves the schedule as it is.
        pairs: exactly so many pairs, for a first look: too few of them for a verdict leave rows
            inconclusive. None leaves the schedule as it is.
        resamples: of the bootstrap.
        seed: of the order of rounds and of the bootstrap.
    """

    family_rate: float = 0.01
    control_rate: float = 0.05
    confidence: float = 0.95
    tolerance: float = 0.01
    looks: int = 3
    growth: float = 1.6
    max_pairs: int | None = None
    pairs: int | None = None
    resamples: int = 4000
    seed: int = 20

    def schedule(self, rows: int) -> Schedule:
        """When to look, for a family of this many rows."""
        if self.pairs is not None:
            return Schedule((self.pairs,), (1.0,))
        return make_schedule(self.family_rate, rows, self.looks, self.growth, self.max_pairs)

    def __post_init__(self) -> None:
        """Checks the ranges: a policy may come from a file."""
        shares = (self.family_rate, self.control_rate, self.confidence)
        if not all(0.0 < share < 1.0 for share in shares):
            raise ValueError(f"[policy] expects rates and confidence in (0, 1), got {shares}")
        if not (self.tolerance > 0.0 and self.growth > 1.0):
            raise ValueError("[policy] expects a positive tolerance and a growth above 1")
        if not (1 <= self.looks <= 20 and 100 <= self.resamples <= 100_000):
            raise ValueError("[policy] expects 1 to 20 looks and 100 to 100000 resamples")
        if self.pairs is not None and self.pairs < 1:
            raise ValueError(f"[policy] expects at least 1 pair, got {self.pairs}")

    @property
    def log_tolerance(self) -> float:
        """The tolerance as a log ratio."""
        return math.log1p(self.tolerance)


@dataclass(frozen=True)
class Comparison:
    """A candidate against a reference, judged.

    Attributes:
        pairs: process pairs that were judged.
        looks: looks that they allowed.
        estimate: the Hodges-Lehmann log ratio of costs; positive is slower.
        spread: interquartile range of the pairs' log ratios.
        interval: the bootstrap interval of the estimate, at the policy's confidence.
        exact: the signed-rank interval at the look's share.
        p: the p-value of the last look.
        spent: the smallest p-value of a look over that look's share.
        adjusted: `spent` after Holm's correction within the family.
        verdict: one of VERDICTS.
    """

    pairs: int
    looks: int
    estimate: float
    spread: float
    interval: Interval
    exact: Interval
    p: float
    spent: float
    adjusted: float = 1.0
    verdict: str = INCONCLUSIVE


def compare(
    values: FloatsLike, policy: Policy, schedule: Schedule, seed: int | Sequence[int] = 0
) -> Comparison:
    """Everything about one comparison that does not depend on other rows.

    Args:
        values: log ratios in the order of collection. Pairs past the last look that the schedule
            allows are left out, so that stopping in mid-look gains nothing.
        policy: rates and tolerance.
        schedule: the looks.
        seed: of the bootstrap.

    Returns:
        A comparison whose verdict is still open; with too few pairs for a look, its p-value is 1
        and the figures are of what is there.

    Raises:
        ValueError: there is no value.
    """
    looks = schedule.done(len(values))
    used = schedule.pairs[looks - 1] if looks else len(values)
    data: Floats = np.asarray(values, dtype=np.float64)[:used]
    p_values = [signed_rank_p(data[:n]) for n in schedule.pairs[:looks]]
    weight = schedule.weights[max(0, looks - 1)]
    return Comparison(
        pairs=data.size,
        looks=looks,
        estimate=hodges_lehmann(data),
        spread=spread(data).iqr,
        interval=bootstrap_interval(data, policy.confidence, seed=seed, resamples=policy.resamples),
        exact=signed_rank_interval(data, 1.0 - (1.0 - policy.confidence) * weight),
        p=p_values[-1] if p_values else 1.0,
        spent=spent_p(p_values, schedule.weights),
    )


def judge(
    family: Mapping[str, Comparison],
    rate: float,
    tolerance: float | Mapping[str, float],
    planned: int = 0,
) -> dict[str, Comparison]:
    """Gives each comparison of a family its adjusted p-value and its verdict.

    Args:
        family: comparisons that share one family-wise rate.
        rate: that rate.
        tolerance: a log ratio, or one for each name.
        planned: how many were planned, if more than are at hand.

    >>> judge({}, 0.05, 0.01)
    {}
    """
    adjusted = holm([c.spent for c in family.values()], planned)
    limits = tolerance if isinstance(tolerance, Mapping) else dict.fromkeys(family, tolerance)
    return {
        name: replace(c, adjusted=p, verdict=_verdict(c, p, rate, limits[name]))
        for (name, c), p in zip(family.items(), adjusted)
    }


def _verdict(c: Comparison, adjusted: float, rate: float, tolerance: float) -> str:
    if c.looks == 0:
        return INCONCLUSIVE
    if c.interval.inside(tolerance) and c.exact.inside(tolerance):
        return SAME
    if adjusted <= rate and c.interval.low > 0.0:
        return SLOWER
    if adjusted <= rate and c.interval.high < 0.0:
        return FASTER
    return INCONCLUSIVE


def apply_controls(
    rows: Mapping[str, Comparison], controls: Mapping[str, Comparison]
) -> dict[str, Comparison]:
    """Replaces the verdict of each row whose control, of the same name, disagrees with itself."""
    return {
        name: replace(row, verdict=HOST_INVALID) if _disagrees(controls.get(name)) else row
        for name, row in rows.items()
    }


def _disagrees(control: Comparison | None) -> bool:
    return control is not None and control.verdict in (SLOWER, FASTER)
