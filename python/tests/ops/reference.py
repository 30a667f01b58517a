"""What the `numpy` column of the op table may call, beside numpy itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from tests.ops import reference_conv, reference_norm, reference_pool, reference_shape


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


def matmul(
    a: np.ndarray, b: np.ndarray, transpose_a: bool, transpose_b: bool, alpha: float
) -> np.ndarray:
    """numpy's, with operands transposed and a factor."""
    a = np.swapaxes(a, -1, -2) if transpose_a else a
    b = np.swapaxes(b, -1, -2) if transpose_b else b
    product = np.matmul(a, b)
    return product if alpha == 1 else np.asarray(alpha * product).astype(product.dtype)


def mlp(
    x: np.ndarray, weights: Sequence[np.ndarray], biases: Sequence[np.ndarray], skip: bool
) -> np.ndarray:
    """Linear layers, each followed by relu, but for the last if `skip`."""
    for i, (weight, bias) in enumerate(zip(weights, biases)):
        x = x @ weight.T + bias
        if i + 1 < len(weights) or not skip:
            x = np.maximum(x, 0)
    return x


def einsum(equation: str, operands: Sequence[np.ndarray]) -> np.ndarray:
    """numpy's, which wants no spaces."""
    return np.asarray(np.einsum(equation.replace(" ", ""), *operands))


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
    "matmul": matmul,
    "mlp": mlp,
    "nll_loss": nll_loss,
    "einsum": einsum,
    "expanded": expanded,
    "flat_shape": flat_shape,
    "into_zeros": into_zeros,
    **reference_conv.NAMES,
    **reference_norm.NAMES,
    **reference_pool.NAMES,
}
