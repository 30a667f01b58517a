"""The arithmetic of a budget: how many pairs fit, when to look, what they can resolve. Pure.

The exact test calls one of m comparisons at look j only if its p-value is at most w_j r / m, with
the family-wise rate r and the look's share w_j. n pairs reach 2^(1 - n) at best, so the first look
needs at least 1 + log2(m / (w_1 r)) of them, whatever the host. Beyond that, a difference d is
found with power b when n is about ((z + z_b) s / d)^2, z of the look's p-value, s the spread.

The number of looks and their pairs are fixed after the first round, by how long it took. That is
fair: under the hypothesis that the two sides are alike, durations say nothing about signs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from bench.harness.estimate import Floats, FloatsLike
from bench.harness.sequential import Schedule, make_schedule, minimum_pairs
from bench.harness.signed_rank import null_cumulative, smallest_p
from bench.harness.verdict import INCONCLUSIVE, Policy, compare, judge

# Of Wilcoxon's test against the normal one, for normal data: it needs 1 / 0.955 as many pairs.
EFFICIENCY = 3.0 / math.pi
POWER = 0.95
# Up to so many pairs, `reach` is simulated; the normal formula is within 3 % beyond.
_SIMULATED_PAIRS, _DRAWS = 150, 4000


def fit_schedule(policy: Policy, comparisons: int, most: int | None) -> Schedule | None:
    """The looks for a family of comparisons, when at most so many pairs can be collected.

    The first look comes as early as a row can be called at all, the last one takes all pairs, and
    those between lie geometrically; where the pairs do not suffice for the policy's looks, there
    are fewer looks, each with a larger share.

    Args:
        policy: rate, looks, growth.
        comparisons: that share the rate.
        most: pairs that fit; None for no limit but the policy's growth.

    Returns:
        The schedule, or None when not even one look is possible.

    >>> fit_schedule(Policy(family_rate=0.002), 1, most=40).pairs
    (12, 22, 40)
    """
    if most is None:
        return make_schedule(policy.family_rate, comparisons, policy.looks, policy.growth)
    for looks in range(policy.looks, 0, -1):
        weight = 1.0 / looks
        first = minimum_pairs(policy.family_rate, comparisons, weight)
        if looks > 1 and most < first * 1.25 ** (looks - 1):
            continue
        if most < first:
            return None
        if looks == 1:
            return Schedule((most,), (1.0,))
        step = (most / first) ** (1.0 / (looks - 1))
        inner = [round(first * step**j) for j in range(1, looks - 1)]
        return Schedule((first, *inner, most), (weight,) * looks)
    return None


@dataclass(frozen=True)
class Fit:
    """What fits into a budget.

    Attributes:
        kept: names of the programs that are measured, in the order given.
        dropped: those that are not, the dearest first.
        schedule: the looks of those kept; None when nothing fits.
        needed_s: what the fewest pairs of all programs would take.
    """

    kept: tuple[str, ...]
    dropped: tuple[str, ...]
    schedule: Schedule | None
    needed_s: float


def fit(
    policy: Policy,
    round_s: Mapping[str, float],
    comparisons: Mapping[str, int],
    budget_s: float | None,
) -> Fit:
    """Chooses programs and looks for a budget; the dearest program goes while nothing fits.

    Args:
        policy: rates and looks.
        round_s: seconds of one round of each program.
        comparisons: of each program, that share the family-wise rate.
        budget_s: for all rounds together; None for no limit.
    """
    kept, dropped = list(round_s), []
    fewest = minimum_pairs(policy.family_rate, sum(comparisons.values()))
    needed = fewest * sum(round_s.values())
    schedule = None
    while kept:
        total, rows = sum(round_s[p] for p in kept), sum(comparisons[p] for p in kept)
        most = None if budget_s is None else int(budget_s / max(total, 1e-9))
        schedule = fit_schedule(policy, rows, most)
        if schedule is not None:
            break
        dearest = max(kept, key=lambda p: round_s[p])
        kept.remove(dearest)
        dropped.append(dearest)
    return Fit(tuple(kept), tuple(dropped), schedule, needed)


def resolvable(spread: float, schedule: Schedule, rate: float, comparisons: int) -> float:
    """The log ratio that the last look finds with a power of 95 %, for normal noise.

    Args:
        spread: standard deviation of a pair's log ratio.
        schedule: the looks.
        rate: family-wise.
        comparisons: that share it.

    >>> from bench.harness.sequential import Schedule
    >>> round(resolvable(0.01, Schedule((100,), (1.0,)), 0.05, 1), 3)
    0.004
    """
    threshold = rate * schedule.weights[-1] / max(1, comparisons)
    return spread * reach(schedule.pairs[-1], threshold)


@lru_cache(maxsize=256)
def reach(pairs: int, threshold: float) -> float:
    """The difference, in standard deviations, that the exact test finds with a power of 95 %.

    Shifting a sample by d makes W of its Walsh averages positive, and the test rejects from a count
    on that its null law gives. So the d that a sample needs is one of its ordered averages, and
    the answer is that one's quantile over samples: simulated for few pairs, for which the normal
    formula promises too much, and by that formula for many.

    Returns:
        The difference; infinity when so few pairs cannot reach the threshold at all.

    >>> reach(9, 0.002)
    inf
    """
    if smallest_p(pairs) > threshold:
        return math.inf
    if pairs > _SIMULATED_PAIRS:
        quantile = NormalDist().inv_cdf
        z = quantile(1.0 - threshold / 2.0) + quantile(POWER)
        return z / math.sqrt(EFFICIENCY * pairs)
    cumulative = null_cumulative(tuple(range(1, pairs + 1)))
    outside = int(np.searchsorted(cumulative, threshold / 2.0, side="right")) - 1
    first, second = np.triu_indices(pairs)
    rng, needed = np.random.default_rng(1), []
    for _ in range(_DRAWS):
        sample = rng.standard_normal(pairs)
        averages = (sample[first] + sample[second]) * 0.5
        needed.append(-float(np.partition(averages, outside)[outside]))
    return float(np.quantile(needed, POWER))


@dataclass(frozen=True)
class Power:
    """The shares of each verdict among simulated comparisons, and of their pairs."""

    slower: float
    faster: float
    same: float
    inconclusive: float
    pairs: float


def power(
    noise: FloatsLike,
    shift: float,
    policy: Policy,
    schedule: Schedule,
    comparisons: int,
    tolerance: float,
    draws: int = 500,
) -> Power:
    """What the whole procedure promises for a difference on a host of known noise, by simulation.

    Pairs are drawn from the noise given, with random signs, for under no difference that is their
    law, and moved by the shift. Holm's correction counts the family's other rows as undecided.

    Args:
        noise: log ratios of pairs that have no difference; resampled.
        shift: the true log ratio.
        policy, schedule, comparisons, tolerance: of the procedure; the tolerance is a log ratio.
        draws: simulated comparisons; the same arguments give the same answer.
    """
    rng = np.random.default_rng(policy.seed)
    values: Floats = np.asarray(noise, dtype=np.float64)
    counts: dict[str, int] = {}
    used = 0
    for draw in range(draws):
        size = schedule.pairs[-1]
        signs = rng.choice((-1.0, 1.0), size)
        data = shift + signs * np.abs(rng.choice(values, size))
        verdict, pairs = _one_comparison(data, policy, schedule, comparisons, tolerance, draw)
        counts[verdict] = counts.get(verdict, 0) + 1
        used += pairs
    found = [counts.get(v, 0) / draws for v in ("slower", "faster", "same", INCONCLUSIVE)]
    return Power(found[0], found[1], found[2], found[3], used / draws)


def _one_comparison(
    data: Floats, policy: Policy, schedule: Schedule, comparisons: int, tolerance: float, seed: int
) -> tuple[str, int]:
    """The verdict after the look that decides, or the last one, and the pairs it took."""
    for pairs in schedule.pairs:
        found = compare(data[:pairs], policy, schedule, seed)
        judged = judge({"row": found}, policy.family_rate, tolerance, planned=comparisons)["row"]
        if judged.verdict != INCONCLUSIVE:
            return judged.verdict, pairs
    return INCONCLUSIVE, schedule.pairs[-1]


def table(
    spreads: Sequence[float], schedule: Schedule, rate: float, comparisons: int
) -> list[tuple[float, float]]:
    """(spread, relative difference that is found) for hosts of different noise."""
    return [(s, math.expm1(resolvable(s, schedule, rate, comparisons))) for s in spreads]
