"""What the `numpy` column of the op table may call, beside numpy itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from tests.ops import (
    reference_conv,
    reference_distance,
    reference_indexing,
    reference_linalg,
    reference_loss,
    reference_math,
    reference_norm,
    reference_order,
    reference_pool,
    reference_shape,
    reference_vision,
)


def axis(dim: int | Sequence[int] | None) -> Any:
    """A dim argument as numpy's axis; an empty list means all."""
    if dim is None or isinstance(dim, int):
        return dim
    return tuple(dim) or None


def log_softmax(x: np.ndarray, dim: int) -> np.ndarray:
    """Logarithm of softmax along one axis."""
    if x.ndim == 0:
        return x - x
    shifted = x - np.max(x, axis=dim, keepdims=True) if x.size else x
    return shifted - np.log(np.sum(np.exp(shifted), axis=dim, keepdims=True))


def nll_loss(
    x: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None,
    ignore_index: int,
    reduction: str,
) -> np.ndarray:
    """Negative log likelihood; classes are on axis 1."""
    weights = np.ones(x.shape[1]) if weight is None else weight
    used = np.where(target == ignore_index, 0.0, weights[target])
    picked = np.take_along_axis(x, np.expand_dims(target, 1), 1).squeeze(1)
    losses = -used * picked
    if reduction == "none":
        return losses
    total = np.asarray(losses.sum())
    return total / used.sum() if reduction == "mean" else total


def expanded(x: np.ndarray, size: Sequence[int]) -> tuple[int, ...]:
    """The argument of expand with each -1 replaced."""
    shape = (1,) * (len(size) - x.ndim) + x.shape
    return tuple(have if want == -1 else want for want, have in zip(size, shape))


def flat_shape(x: np.ndarray, start: int, end: int) -> tuple[int, ...]:
    """The shape after flatten."""
    if x.ndim == 0:
        return (1,)
    first, last = start % x.ndim, end % x.ndim
    return (*x.shape[:first], int(np.prod(x.shape[first : last + 1])), *x.shape[last + 1 :])


def into_zeros(dy: np.ndarray, shape: Sequence[int], dim: int, start: int, step: int) -> np.ndarray:
    """Zeros with dy at every step-th index of one axis."""
    out = np.zeros(shape, dy.dtype)
    where = [slice(None)] * len(shape)
    where[dim] = slice(start, start + dy.shape[dim] * step, step)
    if dy.size:
        out[tuple(where)] = dy
    return out


def wide(x: np.ndarray) -> np.dtype[Any]:
    """The dtype in which elements are added up: int64 for all integers and bool."""
    return x.dtype if x.dtype.kind == "f" else np.dtype(np.int64)


def logsumexp(x: np.ndarray, dim: int | Sequence[int] | None, keepdim: bool) -> np.ndarray:
    """Logarithm of the sum of exponentials, without overflow."""
    if x.size == 0:
        return np.log(np.sum(x, axis=axis(dim), keepdims=keepdim))
    top = np.max(x, axis=axis(dim), keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    total = np.log(np.sum(np.exp(x - top), axis=axis(dim), keepdims=True)) + top
    return total if keepdim else np.squeeze(total, axis(dim))


NAMES: dict[str, Any] = {
    "np": np,
    "wide": wide,
    "logsumexp": logsumexp,
    **reference_shape.NAMES,
    "axis": axis,
    "log_softmax": log_softmax,
    "nll_loss": nll_loss,
    "expanded": expanded,
    "flat_shape": flat_shape,
    "into_zeros": into_zeros,
    **reference_conv.NAMES,
    **reference_distance.NAMES,
    **reference_indexing.NAMES,
    **reference_loss.NAMES,
    **reference_math.NAMES,
    **reference_norm.NAMES,
    **reference_order.NAMES,
    **reference_pool.NAMES,
    **reference_linalg.NAMES,
    **reference_vision.NAMES,
}
