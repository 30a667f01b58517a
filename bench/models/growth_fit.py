"""How a cost grows: the polynomial that was promised, fitted to what was measured. Pure.

A fit makes the squares of relative errors least, so that small sizes count as much as large ones,
and no term of it may be negative: parts of a cost do not pay others back. Whether the promise holds
is told by the fit's largest relative error: a cost that grows faster than the promised power lies
above it at both ends and below in the middle.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# What caches and the clock of a machine bend without any power of the size being behind it.
ALLOWED = 0.10
HOLDS, BROKEN, OPEN, INVALID = "holds", "grows otherwise", "too few sizes", "host invalid"


@dataclass(frozen=True)
class Fit:
    """A polynomial through sizes and costs.

    Attributes:
        terms: cost at power 0, 1, ... of the size.
        error: the largest relative error over the sizes.
    """

    terms: tuple[float, ...]
    error: float

    def at(self, size: float) -> float:
        """The cost that it gives for a size."""
        return sum(term * size**power for power, term in enumerate(self.terms))

    def shares(self, size: float) -> list[float]:
        """The share of each term in the cost of a size."""
        total = self.at(size)
        return [term * size**power / total for power, term in enumerate(self.terms)]


def fit(sizes: Sequence[float], costs: Sequence[float], degree: int) -> Fit:
    """The best polynomial of at most this degree without a negative term.

    Args:
        sizes: positive.
        costs: positive, one for each size.
        degree: 0 to 4.

    Raises:
        ValueError: there are no sizes, not as many costs, or one of them is not positive.

    >>> [round(term, 6) for term in fit([1.0, 2.0, 4.0], [3.0, 5.0, 9.0], 1).terms]
    [1.0, 2.0]
    """
    if not sizes or len(sizes) != len(costs) or min(*sizes, *costs) <= 0.0:
        raise ValueError(f"[fit] expects pairs of positive numbers, got {sizes} and {costs}")
    # Divided by the largest size: powers of 512 beside 1 would cost half of the digits.
    x, y = np.asarray(sizes, dtype=np.float64), np.asarray(costs, dtype=np.float64)
    columns = (x[:, None] / x.max()) ** np.arange(degree + 1) / y[:, None]
    best: tuple[float, list[float]] = (math.inf, [])
    for count in range(1, degree + 2):
        for chosen in itertools.combinations(range(degree + 1), count):
            found = np.linalg.lstsq(columns[:, chosen], np.ones_like(y), rcond=None)[0]
            if (found >= 0.0).all():
                terms = np.zeros(degree + 1)
                terms[list(chosen)] = found
                squares = float(np.square(columns @ terms - 1.0).sum())
                # A further term must gain something: rounding would choose among equals.
                if squares < best[0] - 1e-12:
                    best = (squares, [float(t) for t in terms])
    scaled = np.asarray(best[1])
    error = float(np.abs(columns @ scaled - 1.0).max())
    powers = x.max() ** np.arange(degree + 1)
    return Fit(tuple(float(t) for t in scaled / powers), error)


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float | None:
    """The power by which the cost grows between the two largest sizes; None of a single one.

    >>> exponent([1.0, 2.0, 4.0], [1.0, 2.0, 8.0])
    2.0
    """
    ordered = sorted(zip(sizes, costs))
    if len(ordered) < 2:
        return None
    (a, low), (b, high) = ordered[-2:]
    return math.log(high / low) / math.log(b / a)


def state(found: Fit, count: int, control: float = 0.0) -> str:
    """Whether a promise of the fit's degree holds, of so many sizes.

    Args:
        found: the fit.
        count: of sizes.
        control: by how much a size was off from itself, at most; where that is half of what is
            allowed, the host may be what bends the curve.

    >>> state(Fit((0.0, 1.0), 0.02), 4), state(Fit((0.0, 1.0), 0.3), 4), state(Fit((0.0,), 0.0), 1)
    ('holds', 'grows otherwise', 'too few sizes')
    """
    if count < len(found.terms) + 1:
        return OPEN
    if found.error <= ALLOWED:
        return HOLDS
    return INVALID if control > ALLOWED / 2.0 else BROKEN
