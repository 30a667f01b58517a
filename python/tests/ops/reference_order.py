"""What the `numpy` column may call of order: sorting, ranks, searching."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tests.ops.place import at


def along(function: Callable[..., np.ndarray], x: np.ndarray, dim: int) -> np.ndarray:
    """A cumulative function of numpy; integers and bool become int64."""
    wide = x if x.dtype.kind == "f" else x.astype(np.int64)
    return (
        function(wide.reshape(-1), axis=0).reshape(x.shape)
        if x.ndim == 0
        else function(wide, axis=dim)
    )


def axis_of(x: np.ndarray, dim: int) -> int | None:
    """The axis, or none of an array without axes."""
    return dim if x.ndim else None


def running_extreme(x: np.ndarray, dim: int, largest: bool) -> tuple[np.ndarray, np.ndarray]:
    """The best element so far and its index; the last among equals, NaN wins."""
    if x.ndim == 0:
        return x, np.zeros((), np.int64)
    rows = np.moveaxis(x, dim, -1)
    values, indices = rows.copy(), np.zeros(rows.shape, np.int64)
    for row in np.ndindex(rows.shape[:-1]):
        best = 0
        for i, value in enumerate(rows[row]):
            top = rows[row][best]
            better = value >= top if largest else value <= top
            best = i if better or np.isnan(value) else best
            values[at(*row, i)], indices[at(*row, i)] = rows[row][best], best
    return np.moveaxis(values, -1, dim), np.moveaxis(indices, -1, dim)


def sorted_along(x: np.ndarray, dim: int, descending: bool) -> tuple[np.ndarray, np.ndarray]:
    """Values and indices; equal elements keep their order, NaN is the greatest."""
    if x.ndim == 0:
        return x, np.zeros((), np.int64)
    if descending:  # sorted backwards, so that equal elements come out in their order
        flipped = np.flip(np.argsort(np.flip(x, dim), axis=dim, kind="stable"), dim)
        order = x.shape[dim] - 1 - flipped
    else:
        order = np.argsort(x, axis=dim, kind="stable")
    return np.take_along_axis(x, order, dim), order.astype(np.int64)


def first_along(x: np.ndarray, k: int, dim: int) -> np.ndarray:
    """The first k elements of an axis."""
    return x if x.ndim == 0 else np.take(x, np.arange(k), axis=dim)


def taken_along(x: np.ndarray, i: int, dim: int, keepdim: bool) -> np.ndarray:
    """Element i of an axis."""
    if x.ndim == 0:
        return x
    taken = np.take(x, i, axis=dim)
    return np.expand_dims(taken, dim) if keepdim else taken


def median(x: np.ndarray, dim: int | None, keepdim: bool) -> tuple[np.ndarray, np.ndarray]:
    """The lower one of the middle two elements and its index; the first NaN, where there is one."""
    flat = x.reshape(-1) if dim is None or x.ndim == 0 else x
    axis = 0 if dim is None or x.ndim == 0 else dim
    values, order = sorted_along(flat, axis, False)
    at = np.full(flat.shape[:axis % flat.ndim] + (1,) + flat.shape[axis % flat.ndim + 1 :],
                 (flat.shape[axis] - 1) // 2)  # fmt: skip
    if flat.dtype.kind == "f":
        nans = np.isnan(values).sum(axis=axis, keepdims=True)
        at = np.where(nans > 0, flat.shape[axis] - nans, at)
    results = tuple(np.take_along_axis(r, at, axis) for r in (values, order))
    if keepdim and x.ndim:
        return results[0], results[1]
    return results[0].squeeze(axis), results[1].squeeze(axis)


def mode(x: np.ndarray, dim: int, keepdim: bool) -> tuple[np.ndarray, np.ndarray]:
    """The most frequent element, and where it was last."""
    if x.ndim == 0:
        return x, np.zeros((), np.int64)
    rows = np.moveaxis(x, dim, -1)
    values, indices = np.zeros(rows.shape[:-1], x.dtype), np.zeros(rows.shape[:-1], np.int64)
    for row in np.ndindex(rows.shape[:-1]):
        found, counts = np.unique(rows[row], return_counts=True)
        values[row] = found[np.argmax(counts)]
        indices[row] = np.flatnonzero(rows[row] == values[row])[-1]
    if keepdim:
        return np.expand_dims(values, dim), np.expand_dims(indices, dim)
    return values, indices


def searchsorted(
    sequence: np.ndarray, values: np.ndarray, narrow: bool, right: bool, sorter: Any
) -> np.ndarray:
    """Rows of values in rows of the sequence, or all in one."""
    ordered = sequence if sorter is None else np.take_along_axis(sequence, sorter, -1)
    dtype = np.int32 if narrow else np.int64
    side = "right" if right else "left"
    if ordered.ndim == 1:
        return np.asarray(np.searchsorted(ordered, values, side)).astype(dtype)  # type: ignore[call-overload]
    out = np.zeros(values.shape, dtype)
    for row in np.ndindex(values.shape[:-1]):
        out[row] = np.searchsorted(ordered[row], values[row], side)  # type: ignore[call-overload]
    return out


def auc(label: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    """How often a positive example beats a negative one."""
    positive, negative = prediction[label != 0][:, None], prediction[label == 0][None, :]
    return np.array([np.mean((positive > negative) + 0.5 * (positive == negative))])


def vector_norm(x: np.ndarray, order: float, axis: Any, keepdim: bool) -> np.ndarray:
    """A norm over any axes."""
    size = np.abs(x)
    if np.isinf(order):
        best = np.max if order > 0 else np.min
        return np.asarray(best(size, axis=axis, keepdims=keepdim))
    if order == 0:
        return np.sum(size != 0, axis=axis, keepdims=keepdim).astype(x.dtype)
    return np.asarray(np.sum(size**order, axis=axis, keepdims=keepdim) ** (1.0 / order))


def matrix_norm(x: np.ndarray, order: float, dim: Any, keepdim: bool) -> np.ndarray:
    """The greatest or smallest sum of a row or column."""
    added, chosen = (dim[1], dim[0]) if np.isinf(order) else (dim[0], dim[1])
    sums = np.sum(np.abs(x), axis=added, keepdims=True)
    best = (np.max if order > 0 else np.min)(sums, axis=chosen, keepdims=True)
    return best if keepdim else np.squeeze(best, tuple(dim))


def norm(x: np.ndarray, order: float | None, dim: Any, keepdim: bool, flat: bool) -> np.ndarray:
    """A vector's norm, or a matrix's, as the number of axes says."""
    dims = [dim] if isinstance(dim, int) else dim
    if order is None or flat or (dims and len(dims) == 1):
        axis = tuple(dims) if dims else None
        return vector_norm(x, 2 if order is None else order, axis, keepdim)
    if dims or x.ndim == 2:
        return matrix_norm(x, order, dims or (0, 1), keepdim)
    return vector_norm(x, order, None, keepdim)


def quantile(x: np.ndarray, q: float, dim: Any, keepdim: bool, method: str) -> np.ndarray:
    """A quantile along one axis, or of all elements."""
    return np.asarray(np.quantile(x, float(q), axis=dim, keepdims=keepdim, method=method))  # type: ignore[call-overload]


def unique_with(x: np.ndarray, inverse: bool, counts: bool) -> tuple[np.ndarray, ...]:
    """numpy's, with an inverse of x's shape in every version."""
    found, back, number = np.unique(x, return_inverse=True, return_counts=True)
    out = [found]
    if inverse:
        out.append(back.reshape(x.shape).astype(np.int64))
    if counts:
        out.append(number)
    return tuple(out)


def bincount(x: np.ndarray, weights: np.ndarray | None, least: int | None) -> np.ndarray:
    """numpy's, but sums of integers are integers."""
    counts = np.bincount(x, weights, least or 0)
    return counts.astype(np.int64) if weights is None or weights.dtype.kind == "i" else counts


NAMES: dict[str, Any] = {
    "bincount": bincount,
    "matrix_norm": matrix_norm,
    "norm": norm,
    "quantile": quantile,
    "unique_with": unique_with,
    "vector_norm": vector_norm,
    "along": along,
    "auc": auc,
    "axis_of": axis_of,
    "first_along": first_along,
    "median": median,
    "mode": mode,
    "running_extreme": running_extreme,
    "searchsorted": searchsorted,
    "sorted_along": sorted_along,
    "taken_along": taken_along,
}
