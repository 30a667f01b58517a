"""Wilcoxon's signed-rank test, exact, and the interval that it implies.

Under the hypothesis that a pair's log ratio is symmetric about zero, each rank carries a fair coin
for a sign. The distribution of the sum of the positive ranks is therefore known exactly, whatever
the distribution of the data, and is computed here by convolution, for the ranks at hand.

* Ties get the mean of the ranks they share; the distribution is the one conditional on them.
* Zeros are dropped, as Wilcoxon did, and the test is exact for what remains.
* It is exact up to :data:`EXACT_LIMIT` pairs. Beyond, a normal approximation with corrections
  for ties and continuity is used; at that size it differs in the fourth digit.

Interleaved rounds in random order make the hypothesis hold for two equal programs: swapping them
changes nothing. The test is then valid on any host, however skewed or drifting.

Source: Wilcoxon, Individual comparisons by ranking methods (1945).
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from bench.harness.estimate import Floats, FloatsLike, Interval, walsh_averages

EXACT_LIMIT = 200


def signed_rank_p(values: FloatsLike) -> float:
    """The two-sided p-value of "the values are symmetric about zero".

    Args:
        values: log ratios, one for each pair.

    Returns:
        Twice the smaller tail, at most 1; it is 1 when there is nothing but zeros.

    >>> signed_rank_p([0.1, 0.2, 0.3, 0.4, 0.5])
    0.0625
    """
    data = np.asarray(values, dtype=np.float64)
    data = data[data != 0.0]
    if data.size == 0:
        return 1.0
    ranks = doubled_ranks(np.abs(data))
    statistic = int(ranks[data > 0.0].sum())
    if data.size > EXACT_LIMIT:
        return _normal_p(ranks, statistic)
    cumulative = null_cumulative(tuple(sorted(int(r) for r in ranks)))
    smaller = min(statistic, int(ranks.sum()) - statistic)
    return min(1.0, 2.0 * float(cumulative[smaller]))


def doubled_ranks(magnitudes: Floats) -> npt.NDArray[np.int64]:
    """Twice the ranks, ties sharing their mean: whole numbers, so that sums stay exact.

    >>> doubled_ranks(np.array([5.0, 1.0, 5.0])).tolist()
    [5, 2, 5]
    """
    _, inverse, counts = np.unique(magnitudes, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    doubled: npt.NDArray[np.int64] = (2 * last - counts + 1)[inverse.reshape(-1)]
    return doubled


@lru_cache(maxsize=256)
def null_cumulative(ranks: tuple[int, ...]) -> Floats:
    """``P(sum <= k)`` for k = 0, 1, ... of the ranks whose fair coin came up."""
    chance = np.zeros(sum(ranks) + 1)
    chance[0] = 1.0
    reach = 0
    for rank in ranks:
        shifted = chance[: reach + 1].copy()
        reach += rank
        chance[: reach + 1] *= 0.5
        chance[rank : reach + 1] += 0.5 * shifted
    cumulative = np.cumsum(chance)
    cumulative.flags.writeable = False
    return cumulative


def smallest_p(pairs: int) -> float:
    """The smallest two-sided p-value that this many pairs can reach.

    >>> smallest_p(10) < 0.002 < smallest_p(9)
    True
    """
    return min(1.0, 2.0 ** (1 - pairs))


def signed_rank_interval(values: FloatsLike, confidence: float) -> Interval:
    """The shifts that the test does not reject: an exact interval for the centre.

    Its ends are Walsh averages. When there are too few pairs for this confidence it is unbounded.
    Beyond :data:`EXACT_LIMIT` pairs, the normal approximation picks the averages.

    >>> signed_rank_interval([0.1, 0.2, 0.3], 0.95)
    Interval(low=-inf, high=inf)
    """
    averages = walsh_averages(values)
    outside = _averages_outside(len(values), (1.0 - confidence) / 2.0)
    if outside < 0:
        return Interval(-math.inf, math.inf)
    return Interval(float(averages[outside]), float(averages[averages.size - 1 - outside]))


@lru_cache(maxsize=1024)
def _averages_outside(count: int, tail: float) -> int:
    """How many Walsh averages to leave out on each side; -1 when even none is too many."""
    if count > EXACT_LIMIT:
        mean = count * (count + 1) / 4.0
        sigma = math.sqrt(count * (count + 1) * (2 * count + 1) / 24.0)
        return max(-1, math.floor(mean - 0.5 + sigma * NormalDist().inv_cdf(tail)))
    cumulative = null_cumulative(tuple(range(1, count + 1)))
    return int(np.searchsorted(cumulative, tail, side="right")) - 1


def _normal_p(ranks: npt.NDArray[np.int64], statistic: int) -> float:
    """The approximation, with the variance of the tied ranks; doubled ranks, so a step is 2."""
    mean = float(ranks.sum()) / 2.0
    sigma = math.sqrt(float(np.square(ranks, dtype=np.float64).sum()) / 4.0)
    distance = max(0.0, abs(statistic - mean) - 1.0)
    return min(1.0, 2.0 * NormalDist().cdf(-distance / sigma))
