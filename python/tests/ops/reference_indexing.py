"""Reading and writing where indices say: for the `numpy` column of the op table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def strided(x: np.ndarray, size: Sequence[int], stride: Sequence[int], offset: int) -> np.ndarray:
    """A view by strides that count elements, as indices into the memory."""
    memory = x.ravel(order="K")
    places = np.full(tuple(size), offset)
    for dim, (n, step) in enumerate(zip(size, stride)):
        shape = [1] * len(size)
        shape[dim] = n
        places = places + np.arange(n).reshape(shape) * step
    return memory[places]


def updated(x: np.ndarray, index: Any, values: Any) -> np.ndarray:
    """A copy with values at an index."""
    out = x.copy()
    out[index] = values
    return out


def _along(index: np.ndarray, dim: int) -> tuple[np.ndarray, ...]:
    """An index along one dim as an index for each dim."""
    grid = list(np.indices(index.shape))
    grid[dim % index.ndim] = index
    return tuple(grid)


def gathered(x: np.ndarray, dim: int, index: np.ndarray) -> np.ndarray:
    """One element for each element of an index."""
    if x.ndim == 0:
        return x.reshape(index.shape)
    return x[_along(index, dim)]


def scattered(
    x: np.ndarray, dim: int, index: np.ndarray, src: np.ndarray, reduce: str | None
) -> np.ndarray:
    """A copy with elements of src where an index points."""
    out = np.atleast_1d(x.copy())
    places = np.atleast_1d(index)
    part = np.atleast_1d(src)[tuple(slice(n) for n in places.shape)]
    where = _along(places, dim)
    if reduce == "add":
        np.add.at(out, where, part)
    elif reduce == "multiply":
        np.multiply.at(out, where, part)
    else:
        for at in np.ndindex(places.shape):
            out[tuple(w[at] for w in where)] = part[at]
    return out.reshape(x.shape)


def index_added(
    x: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray, alpha: float
) -> np.ndarray:
    """A copy with rows added along one dim."""
    out = x.copy()
    np.add.at(np.moveaxis(out, dim, 0), index, alpha * np.moveaxis(source, dim, 0))
    return out


def index_putted(
    x: np.ndarray, indices: Sequence[np.ndarray], values: np.ndarray, accumulate: bool
) -> np.ndarray:
    """A copy with values at indices, or added there."""
    out = x.copy()
    if accumulate:
        np.add.at(out, tuple(indices), values)
    else:
        out[tuple(indices)] = values
    return out


def scattered_nd(indices: np.ndarray, updates: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Zeros with rows added where the last axis of indices points."""
    out = np.zeros(tuple(shape), updates.dtype)
    np.add.at(out, tuple(np.moveaxis(indices, -1, 0)), updates)
    return out


def batch_gathered(x: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Rows of each element of a batch."""
    out = np.zeros(indices.shape + x.shape[indices.ndim :], x.dtype)
    for at in np.ndindex(indices.shape):
        out[at] = x[at[:-1] + (indices[at],)]
    return out


def segment_sums(x: np.ndarray, ids: np.ndarray, axis: int, count: int) -> np.ndarray:
    """Sums of the rows with one id."""
    out = np.zeros((*x.shape[:axis], count, *x.shape[axis + ids.ndim :]), x.dtype)
    for at in np.ndindex(ids.shape):
        out[(slice(None),) * axis + (ids[at],)] += x[(slice(None),) * axis + at]
    return out


NAMES: dict[str, Any] = {
    "batch_gathered": batch_gathered,
    "gathered": gathered,
    "index_added": index_added,
    "index_putted": index_putted,
    "scattered": scattered,
    "scattered_nd": scattered_nd,
    "segment_sums": segment_sums,
    "strided": strided,
    "updated": updated,
}
