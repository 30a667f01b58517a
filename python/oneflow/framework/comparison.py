"""Comparisons of whole tensors, which answer with a bool.

Source: numpy's allclose and array_equal.
"""

from __future__ import annotations

from typing import Any

from oneflow._oneflow_internal import _C


def allclose(
    input: Any, other: Any, atol: float = 1e-08, rtol: float = 1e-05, equal_nan: bool = False
) -> bool:
    """Are all elements of two tensors nearly equal: |input - other| <= atol + rtol * |other|?

    Takes tensors whose shapes broadcast together; RuntimeError if they do not. Waits for the
    result.

        >>> flow.allclose(flow.tensor([1.0, 2.0]), flow.tensor([1.0, 2.0 + 1e-7]))
        True
    """
    close = _C.isclose(input, other, atol, rtol, equal_nan)
    return bool(_C.logical_not(close).sum().item() == 0)


def equal(input: Any, other: Any) -> bool:
    """Have two tensors the same shape and equal elements? NaN equals nothing. Waits for the result.

    >>> flow.equal(flow.tensor([1, 2]), flow.tensor([1, 2]))
    True
    >>> flow.equal(flow.tensor([1, 2]), flow.tensor([[1, 2]]))
    False
    """
    if tuple(input.shape) != tuple(other.shape):
        return False
    return bool(_C.ne(input, other).sum().item() == 0)
