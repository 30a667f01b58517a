"""Special functions for the `numpy` column, by Python's math library or by slow, sure methods."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np


def _each(function: Callable[[float], float], pole: float) -> Callable[[np.ndarray], np.ndarray]:
    """An array's version of a function of one float; `pole` is its value where it has none."""

    def guarded(x: float) -> float:
        try:
            return function(float(x))
        except (ValueError, OverflowError):
            return pole

    return np.vectorize(guarded, otypes=[np.float64])


def _lgamma(x: float) -> float:
    return math.inf if math.isinf(x) else math.lgamma(x)


def _erfinv(x: float) -> float:
    """By bisection on erfc, which is exact where erf is near 1; near 0 by its series."""
    if abs(x) < 1e-3:
        z = math.pi * x * x / 4
        return math.sqrt(math.pi) / 2 * x * (1 + z / 3 + 7 * z * z / 30)
    if not abs(x) < 1:
        return math.copysign(math.inf, x) if abs(x) == 1 else math.nan
    low, high = 0.0, 6.0
    for _ in range(70):
        middle = (low + high) / 2
        if math.erfc(middle) > 1 - abs(x):
            low = middle
        else:
            high = middle
    return math.copysign(low, x)


def _shifted(
    x: float, term: Callable[[float], float], far: Callable[[float], float], end: float = 50
) -> float:
    """Up by the recurrence to where the asymptotic series is exact."""
    total = 0.0
    while x < end:
        total += term(x)
        x += 1
    return total + far(x)


def _digamma(x: float) -> float:
    if math.isinf(x):
        return x if x > 0 else math.nan
    if x <= 0 and x == math.floor(x):
        return math.copysign(math.inf, -x) if x == 0 else math.nan
    if x < 0:
        return _digamma(1 - x) - math.pi / math.tan(math.pi * math.fmod(x, 1))
    return _shifted(
        x,
        lambda t: -1 / t,
        lambda t: math.log(t) - 1 / (2 * t) - (1 / t) ** 2 / 12 + (1 / t) ** 4 / 120,
    )


def polygamma(n: int, x: np.ndarray) -> np.ndarray:
    """By the sum of its first terms, and the integral of the rest."""

    def term(t: float) -> float:
        return float(t ** -(n + 1))

    def far(t: float) -> float:
        return float(t**-n / n + t ** -(n + 1) / 2 + (n + 1) / 12 * t ** -(n + 2))

    def one(x: float) -> float:
        if math.isinf(x):
            return 0.0 if x > 0 else math.nan
        if x <= 0 and x == math.floor(x):
            return math.inf if n % 2 else -math.inf
        return (-1) ** (n + 1) * math.factorial(n) * _shifted(x, term, far, 300)

    return _each(one, math.nan)(x)


def fast_gelu_slope(x: np.ndarray) -> np.ndarray:
    """The derivative of gelu's form with tanh."""
    x = np.clip(x, -30, 30)  # beyond, it is 0 and 1
    scale = math.sqrt(2 / math.pi)
    t = np.tanh(scale * (x + 0.044715 * x**3))
    return (1 + t) / 2 + x * (1 - t * t) / 2 * scale * (1 + 3 * 0.044715 * x**2)


def quick_gelu_slope(x: np.ndarray) -> np.ndarray:
    """The derivative of x * sigmoid(1.702 * x)."""
    x = np.clip(x, -1000, 1000)  # beyond, it is 0 and 1
    gate = 1 / (1 + np.exp(-1.702 * x))
    return gate * (1 + 1.702 * x * (1 - gate))


NAMES: dict[str, Any] = {
    "erf": _each(math.erf, math.nan),
    "erfc": _each(math.erfc, math.nan),
    "erfinv": _each(_erfinv, math.nan),
    "lgamma": _each(_lgamma, math.inf),
    "digamma": _each(_digamma, math.nan),
    "polygamma": polygamma,
    "fast_gelu_slope": fast_gelu_slope,
    "quick_gelu_slope": quick_gelu_slope,
}
