"""Comparisons that several suites share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow as flow


def values(tensor: Any) -> np.ndarray[Any, Any]:
    """The elements as NumPy, in memory of their own."""
    return np.array(tensor.detach().numpy())


def same(tensor: Any, expected: Any, tolerance: float = 1e-6) -> None:
    """The shape is equal and the elements are within `tolerance`, relative and absolute."""
    expected = np.asarray(expected)
    assert tuple(tensor.shape) == expected.shape
    np.testing.assert_allclose(values(tensor), expected, rtol=tolerance, atol=tolerance)


def raises(kind: Any, *words: str) -> Any:
    """`pytest.raises`, with a message in which the words follow each other."""
    return pytest.raises(kind, match="(?s)" + ".*".join(words))


def numeric_gradient(
    function: Callable[[Any], Any], x: np.ndarray[Any, Any], step: float = 1e-6
) -> np.ndarray[Any, Any]:
    """The gradient of a scalar function of a float64 tensor, by central differences."""
    gradient = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        high, low = x.copy(), x.copy()
        high[index] += step
        low[index] -= step
        rise = function(flow.tensor(high)).item() - function(flow.tensor(low)).item()
        gradient[index] = rise / (2 * step)
    return gradient


def must_fail(check: Callable[..., None], *args: Any) -> None:
    """The check must reject this subject: the positive control of a suite."""
    with pytest.raises(AssertionError):
        check(*args)
