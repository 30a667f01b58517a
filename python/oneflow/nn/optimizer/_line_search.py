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


class _Line:
    """The loss along one line, from its values at length 0."""

    def __init__(
        self,
        evaluate: Callable[[float], tuple[float, Any]],
        slope_of: Callable[[Any], float],
        start: _Point,
    ) -> None:
        self._evaluate, self._slope_of, self._start = evaluate, slope_of, start
        self.evaluations = 0

    def at(self, length: float) -> _Point:
        """The point at a step length; one evaluation."""
        self.evaluations += 1
        value, found = self._evaluate(length)
        return _Point(length, value, found, self._slope_of(found))

    def too_high(self, point: _Point) -> bool:
        """Whether the loss has not fallen enough."""
        return not point.loss <= self._start.loss + _DECREASE * point.t * self._start.slope

    def flat(self, point: _Point) -> bool:
        """Whether the slope is small enough."""
        return abs(point.slope) <= -_CURVATURE * self._start.slope

    def bracket(self, t: float) -> tuple[_Point, _Point]:
        """Two points that have a good one between them; the same twice if it is good itself."""
        previous, current = self._start, self.at(t)
        for step in range(_MOST_STEPS):
            if self.too_high(current) or (step > 0 and current.loss >= previous.loss):
                return previous, current
            if self.flat(current):
                return current, current
            if current.slope >= 0:
                return current, previous
            low = current.t + 0.01 * (current.t - previous.t)
            following = _minimum_of_cubic(previous, current, low, current.t * 10)
            previous, current = current, self.at(following)
        return current, self._start

    def zoom(self, low: _Point, high: _Point, size: float, tolerance: float) -> _Point:
        """Narrows a bracket, `low` being the point with the lower loss, until a point is good."""
        stuck = False
        while self.evaluations < _MOST_STEPS and abs(high.t - low.t) * size >= tolerance:
            guess, stuck = _inside(low, high, stuck)
            point = self.at(guess)
            if self.too_high(point) or point.loss >= low.loss:
                high = point
                continue
            if self.flat(point):
                return point
            if point.slope * (high.t - low.t) >= 0:
                high = low
            low = point
        return low


def _inside(low: _Point, high: _Point, stuck: bool) -> tuple[float, bool]:
    """Where to look next: the cubic's minimum, moved away from the ends of the bracket."""
    left, right = sorted((low.t, high.t))
    guess = _minimum_of_cubic(low, high, left, right)
    margin = 0.1 * (right - left)
    if min(right - guess, guess - left) >= margin:
        return guess, False
    # Too near an end: once is let pass, if it is inside; then it is moved in.
    if stuck or guess >= right or guess <= left:
        near_right = abs(guess - right) < abs(guess - left)
        return (right - margin if near_right else left + margin), False
    return guess, True


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
    line = _Line(evaluate, slope_of, _Point(0.0, loss, gradient, slope))
    low, high = line.bracket(t)
    if low is not high:
        if low.loss > high.loss:
            low, high = high, low
        low = line.zoom(low, high, size, tolerance)
    return low.loss, low.gradient, low.t, line.evaluations
