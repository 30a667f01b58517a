"""What the `numpy` column of the families shape, join and rearrange calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def concatenated(inputs: Sequence[np.ndarray], dim: int) -> np.ndarray:
    """np.concatenate; vectors of nothing join nothing."""
    some = [x for x in inputs if x.shape != (0,)]
    return np.concatenate(some, dim) if some else inputs[0]


def sections(x: np.ndarray, sizes: Sequence[int], dim: int) -> tuple[np.ndarray, ...]:
    """Pieces of these sizes."""
    return tuple(np.split(x, np.cumsum(sizes)[:-1], dim))


def split(x: np.ndarray, size: int, dim: int) -> tuple[np.ndarray, ...]:
    """Pieces of one size, the last may be smaller."""
    length = x.shape[dim]
    return tuple(np.split(x, range(size, length, size), dim)) if length else (x,)


def chunked(x: np.ndarray, chunks: int, dim: int) -> tuple[np.ndarray, ...]:
    """At most so many pieces of one size."""
    length = x.shape[dim]
    return split(x, -(-length // chunks), dim) if length else (x,) * chunks


def padded(x: np.ndarray, pad: Sequence[int], mode: str, value: Any) -> np.ndarray:
    """np.pad with PyTorch's order of sizes; negative ones cut."""
    pairs = [(0, 0)] * (x.ndim - len(pad) // 2)
    pairs += [(pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)]
    cut = tuple(
        slice(max(-before, 0), size - max(-after, 0))
        for (before, after), size in zip(pairs, x.shape)
    )
    add = [(max(before, 0), max(after, 0)) for before, after in pairs]
    if mode == "constant":
        return np.pad(x[cut], add, constant_values=0 if value is None else value)
    names: dict[str, Any] = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    return np.pad(x[cut], add, names[mode])


def diag_embed(x: np.ndarray, offset: int, dim1: int, dim2: int) -> np.ndarray:
    """Each vector of the last axis as a diagonal, the axes moved to dim1 and dim2."""
    flat = x.reshape(-1, x.shape[-1])
    matrices = np.stack([np.diag(row, offset) for row in flat])
    return np.moveaxis(matrices.reshape(x.shape[:-1] + matrices.shape[-2:]), (-2, -1), (dim1, dim2))


def windows(x: np.ndarray, dim: int, size: int, step: int) -> np.ndarray:
    """Sliding windows; their elements are the last axis."""
    every = np.lib.stride_tricks.sliding_window_view(x, size, axis=dim)
    taken: list[slice] = [slice(None)] * every.ndim
    taken[dim % x.ndim] = slice(None, None, step)
    return every[tuple(taken)]


def one_hot(indices: np.ndarray, classes: int, on: Any, off: Any) -> np.ndarray:
    """A vector for each index."""
    depth = int(indices.max()) + 1 if classes < 0 else classes
    return np.where(indices[..., None] == np.arange(depth), on, off)


NAMES: dict[str, Any] = {
    "concatenated": concatenated,
    "sections": sections,
    "split": split,
    "chunked": chunked,
    "padded": padded,
    "diag_embed": diag_embed,
    "windows": windows,
    "one_hot": one_hot,
}
