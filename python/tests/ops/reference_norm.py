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


def _other_axes(x: np.ndarray, axis: int) -> tuple[int, ...]:
    return tuple(d for d in range(x.ndim) if d != axis % x.ndim)


def batch_norm_stats(x: np.ndarray, axis: int, eps: float) -> tuple[np.ndarray, np.ndarray]:
    """Each channel's mean and inverse standard deviation."""
    axes = _other_axes(x, axis)
    return x.mean(axes), 1 / np.sqrt(x.var(axes) + eps)


def batch_norm_gather(
    mean: np.ndarray, invstd: np.ndarray, eps: float, counts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The statistics of all processes, from the moments of each."""
    share = (counts / counts.sum())[:, None]
    first = (mean * share).sum(0)
    second = ((invstd**-2 - eps + mean**2) * share).sum(0)
    return first, 1 / np.sqrt(second - first**2 + eps)


def batch_norm_sums(
    dy: np.ndarray, x: np.ndarray, mean: np.ndarray, invstd: np.ndarray, axis: int
) -> tuple[np.ndarray, ...]:
    """Sums over each channel, and the gradients of weight and bias."""
    axes = _other_axes(x, axis)
    product = (dy * (x - _along(mean, axis, x.ndim))).sum(axes)
    return dy.sum(axes), product, product * invstd, dy.sum(axes)


def batch_norm_dx(
    dy: np.ndarray,
    x: np.ndarray,
    mean: np.ndarray,
    invstd: np.ndarray,
    weight: np.ndarray,
    sum_dy: np.ndarray,
    sum_dyx: np.ndarray,
    count: np.ndarray,
    axis: int,
) -> np.ndarray:
    """The gradient of batch norm's input."""
    total = count.sum()
    m, k = (_along(t / total, axis, x.ndim) for t in (sum_dy, sum_dyx * invstd**2))
    d = x - _along(mean, axis, x.ndim)
    return (dy - m - d * k) * _along(invstd * weight, axis, x.ndim)


def embedding_backward(
    grad: np.ndarray,
    indices: np.ndarray,
    shape: tuple[int, int],
    padding: int,
    by_frequency: bool,
) -> np.ndarray:
    """Rows of a gradient added up where they were looked up."""
    out = np.zeros(shape, grad.dtype)
    np.add.at(out, indices, grad)
    if padding >= 0:
        out[padding] = 0
    counts = np.bincount(indices.ravel(), minlength=shape[0])[:, None]
    return out / np.maximum(counts, 1) if by_frequency else out


def embedding_renorm(
    weight: np.ndarray, indices: np.ndarray, largest: float, kind: float
) -> np.ndarray:
    """Rows that are looked up, cut to a norm."""
    norms = np.linalg.norm(weight, ord=kind, axis=1, keepdims=True)
    used = np.isin(np.arange(weight.shape[0]), indices)[:, None] & (norms > largest)
    return np.where(used, weight * (largest / (norms + 1e-7)), weight)


NAMES: dict[str, Any] = {
    "batch_norm_stats": batch_norm_stats,
    "batch_norm_gather": batch_norm_gather,
    "batch_norm_sums": batch_norm_sums,
    "batch_norm_dx": batch_norm_dx,
    "embedding_backward": embedding_backward,
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "group_norm": group_norm,
    "batch_norm": batch_norm,
}
