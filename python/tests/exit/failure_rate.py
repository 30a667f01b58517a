"""How sure a number of runs makes one of a failure rate."""

from __future__ import annotations

import math


def upper_bound(failures: int, runs: int, confidence: float = 0.95) -> float:
    """The one-sided upper bound of a failure rate: the rate at which so few failures would be
    seen with probability 1 - confidence. For no failure it is 1 - 0.05 ** (1 / runs).

    Source: Clopper and Pearson, The use of confidence or fiducial limits, Biometrika 26, 1934.
    """
    if not 0 <= failures <= runs or runs == 0:
        raise ValueError(f"[upper_bound] expects 0 <= failures <= runs, got {failures} of {runs}")
    if failures == runs:
        return 1.0
    low, high = 0.0, 1.0
    while high - low > 1e-12:
        rate = (low + high) / 2
        if at_most(failures, runs, rate) > 1 - confidence:
            low = rate
        else:
            high = rate
    return high


def at_most(failures: int, runs: int, rate: float) -> float:
    """The probability of at most `failures` in `runs` independent ones."""
    return sum(math.comb(runs, k) * rate**k * (1 - rate) ** (runs - k) for k in range(failures + 1))
