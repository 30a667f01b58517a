"""Norms, as numpy says them."""

from __future__ import annotations

from typing import Any

import numpy as np


def _standard(x: np.ndarray, axes: tuple[int, ...], epsilon: float) -> np.ndarray:
    mean = x.mean(axis=axes, keepdims=True)
    return (x - mean) / np.sqrt(((x - mean) ** 2).mean(axis=axes, keepdims=True) + epsilon)


def layer_norm(x: np.ndarray, begin: int, epsilon: float) -> np.ndarray:
    """Dims begin and later with mean 0 and variance 1."""
    return _standard(x, tuple(range(begin % x.ndim, x.ndim)), epsilon)


def rms_norm(x: np.ndarray, dims: int, epsilon: float) -> np.ndarray:
    """The last dims divided by their root mean square."""
    axes = tuple(range(x.ndim - dims, x.ndim))
    return x / np.sqrt((x * x).mean(axis=axes, keepdims=True) + epsilon)


def _along(parameter: np.ndarray, axis: int, ndim: int) -> np.ndarray:
    """A parameter for each index of one axis."""
    return parameter.reshape([-1 if d == axis else 1 for d in range(ndim)])


def group_norm(
    x: np.ndarray,
    weight: np.ndarray | None,
    bias: np.ndarray | None,
    groups: int,
    epsilon: float,
    layout: str = "channels_first",
    activation: str = "none",
) -> np.ndarray:
    """Groups of channels with mean 0 and variance 1."""
    last = layout == "channels_last"
    first = np.moveaxis(x, -1, 1) if last else x
    split = first.reshape(first.shape[0], groups, -1)
    y = _standard(split, (2,), epsilon).reshape(first.shape)
    y = y * (1 if weight is None else _along(weight, 1, x.ndim))
    y = y + (0 if bias is None else _along(bias, 1, x.ndim))
    y = np.moveaxis(y, 1, -1) if last else y
    return y / (1 + np.exp(-y)) if activation == "silu" else y


def batch_norm(
    x: np.ndarray,
    mean: np.ndarray | None,
    variance: np.ndarray | None,
    weight: np.ndarray | None,
    bias: np.ndarray | None,
    axis: int,
    epsilon: float,
    training: bool,
) -> np.ndarray:
    """Channels with mean 0 and variance 1 over the batch, or by given statistics."""
    if training:
        y = _standard(x, tuple(d for d in range(x.ndim) if d != axis), epsilon)
    else:
        assert mean is not None and variance is not None
        shifted = x - _along(mean, axis, x.ndim)
        y = shifted / np.sqrt(_along(variance, axis, x.ndim) + epsilon)
    y = y * (1 if weight is None else _along(weight, axis, x.ndim))
    return y + (0 if bias is None else _along(bias, axis, x.ndim))


NAMES: dict[str, Any] = {
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "group_norm": group_norm,
    "batch_norm": batch_norm,
}
