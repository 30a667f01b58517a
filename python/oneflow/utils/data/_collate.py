"""Joins samples into a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from oneflow import _oneflow_internal
from oneflow.utils.data._shared import NUMPY_DTYPES, Arena

Tensor = _oneflow_internal.Tensor
# In a worker process of DataLoader: where batches travel.
arena: Arena | None = None
# Those of arrays that can be a tensor's memory.
_DTYPES = set(NUMPY_DTYPES.values())


def default_collate(batch: Sequence[Any]) -> Any:
    """One batch of samples of the same form: what was (...) in each becomes (len(batch), ...).

    Args:
        batch: samples; tensors, NumPy arrays and numbers become Tensors (floats float64), strings
            stay in a list, and mappings, tuples and sequences are joined member by member

    Raises:
        ValueError: tensors of different shapes, or sequences of different lengths.
        TypeError: something else.

    Example:
        >>> import oneflow as flow
        >>> flow.utils.data.default_collate([(flow.zeros(2), 3), (flow.ones(2), 4)])
        [tensor([[0., 0.],
                [1., 1.]], dtype=oneflow.float32), tensor([3, 4], dtype=oneflow.int64)]
    """
    if not batch:
        raise ValueError("[default_collate] expects at least one sample, got none")
    first = batch[0]
    if isinstance(first, Tensor):
        return _stack([sample.detach().numpy() for sample in batch])
    if isinstance(first, (np.ndarray, np.generic)):
        return _stack([np.asarray(sample) for sample in batch])
    if isinstance(first, (bool, int, float)):
        return _numbers(first, batch)
    if isinstance(first, (str, bytes)):
        return list(batch)
    return _collate_members(first, batch)


def _numbers(first: Any, batch: Sequence[Any]) -> Any:
    for sample in batch:
        if not isinstance(sample, (bool, int, float)):
            raise TypeError(
                "[default_collate] expects samples of one kind, got "
                f"{type(first).__name__} and {type(sample).__name__}"
            )
    if isinstance(first, float):
        return _oneflow_internal.tensor(np.asarray(batch, dtype=np.float64))
    return _oneflow_internal.tensor(list(batch))


def _collate_members(first: Any, batch: Sequence[Any]) -> Any:
    if isinstance(first, Mapping):
        return {key: default_collate([sample[key] for sample in batch]) for key in first}
    if not isinstance(first, Sequence):
        raise TypeError(
            "[default_collate] expects tensors, arrays, numbers, strings, mappings or sequences, "
            f"got {type(first).__name__}"
        )
    lengths = {len(sample) for sample in batch}
    if len(lengths) != 1:
        raise ValueError(
            f"[default_collate] expects samples of the same length, got {sorted(lengths)}"
        )
    members = [default_collate(column) for column in zip(*batch)]
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*members)
    return members


def _stack(arrays: list[np.ndarray[Any, Any]]) -> Any:
    shapes = {array.shape for array in arrays}
    if len(shapes) != 1:
        raise ValueError(
            f"[default_collate] expects tensors of the same shape, got {sorted(shapes)}"
        )
    dtypes = {array.dtype for array in arrays}
    if len(dtypes) != 1 or not dtypes < _DTYPES:
        return _oneflow_internal.tensor(np.stack(arrays))
    shape = (len(arrays), *arrays[0].shape)
    stacked = None if arena is None else arena.array(shape, arrays[0].dtype)
    stacked = np.empty(shape, arrays[0].dtype) if stacked is None else stacked
    return _oneflow_internal.adopt_array(np.stack(arrays, out=stacked))
