"""A line search for the strong Wolfe conditions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

_DECREASE = 1e-4  # the loss falls by at least this part of what the slope promises
_CURVATURE = 0.9  # the slope becomes at least this much flatter
_MOST_STEPS = 25


class _Point(NamedTuple):
    """The loss at one step length, its gradient, and the slope along the line."""

    t: float
    loss: float
    gradient: Any
    slope: float


def _minimum_of_cubic(a: _Point, b: _Point, low: float, high: float) -> float:
    """Where the cubic through two points with slopes is least, kept from `low` to `high`."""
    if a.t > b.t:
        a, b = b, a
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    inside = d1 * d1 - a.slope * b.slope
    if inside < 0 or not math.isfinite(inside):
        return (low + high) / 2
    d2 = math.sqrt(inside)
    denominator = b.slope - a.slope + 2 * d2
    if denominator == 0:
        return (low + high) / 2
    return min(max(b.t - (b.t - a.t) * (b.slope + d2 - d1) / denominator, low), high)


def strong_wolfe(
    evaluate: Callable[[float], tuple[float, Any]],
    t: float,
    size: float,
    loss: float,
    gradient: Any,
    slope: float,
    slope_of: Callable[[Any], float],
    tolerance: float,
) -> tuple[float, Any, float, int]:
    """A step length at which the loss is low enough and flat enough.

    Args:
        evaluate: gives loss and gradient at a step length
        t: the first to try
        size: the largest element of the direction
        loss, gradient, slope: at length 0
        slope_of: gives the slope along the line from a gradient
        tolerance: steps whose elements differ less count as equal

    Returns:
        (loss, gradient, step length, number of evaluations)

    Source: Nocedal and Wright, "Numerical optimization", algorithms 3.5 and 3.6, 2006.
    """
    start = _Point(0.0, loss, gradient, slope)
    evaluations = 0

    def at(length: float) -> _Point:
        nonlocal evaluations
        evaluations += 1
        value, found = evaluate(length)
        return _Point(length, value, found, slope_of(found))

    def too_high(point: _Point) -> bool:
        return not point.loss <= loss + _DECREASE * point.t * slope

    def flat(point: _Point) -> bool:
        return abs(point.slope) <= -_CURVATURE * slope

    previous, current = start, at(t)
    bracket: tuple[_Point, _Point] | None = None
    for step in range(_MOST_STEPS):
        if too_high(current) or (step > 0 and current.loss >= previous.loss):
            bracket = (previous, current)
        elif flat(current):
            return current.loss, current.gradient, current.t, evaluations
        elif current.slope >= 0:
            bracket = (current, previous)
        if bracket is not None:
            break
        low = current.t + 0.01 * (current.t - previous.t)
        following = _minimum_of_cubic(previous, current, low, current.t * 10)
        previous, current = current, at(following)
    low_point, high_point = bracket if bracket is not None else (current, start)
    if low_point.loss > high_point.loss:
        low_point, high_point = high_point, low_point
    stuck = False
    while evaluations < _MOST_STEPS and abs(high_point.t - low_point.t) * size >= tolerance:
        left, right = sorted((low_point.t, high_point.t))
        guess = _minimum_of_cubic(low_point, high_point, left, right)
        margin = 0.1 * (right - left)
        if min(right - guess, guess - left) < margin:
            # Too near an end: once is let pass, if it is inside; then it is moved in.
            if stuck or guess >= right or guess <= left:
                guess = right - margin if abs(guess - right) < abs(guess - left) else left + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        point = at(guess)
        if too_high(point) or point.loss >= low_point.loss:
            high_point = point
            continue
        if flat(point):
            low_point = point
            break
        if point.slope * (high_point.t - low_point.t) >= 0:
            high_point = low_point
        low_point = point
    return low_point.loss, low_point.gradient, low_point.t, evaluations
