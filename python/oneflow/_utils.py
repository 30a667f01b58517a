"""What libraries take from the package's inside: vectors of tensors, and a check."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from oneflow import _oneflow_internal

_C = _oneflow_internal._C


def _flatten_dense_tensors(tensors: Iterable[Any]) -> Any:
    """The elements of tensors of one dtype, one after the other."""
    return _C.cat([_C.reshape(tensor, (-1,)) for tensor in tensors], 0)


def _unflatten_dense_tensors(flat: Any, tensors: Iterable[Any]) -> tuple[Any, ...]:
    """Views of the parts of a vector, with the shapes of `tensors`."""
    parts = []
    begin = 0
    for tensor in tensors:
        count = tensor.numel()
        parts.append(_C.view(_C.narrow(flat, 0, begin, count), tuple(tensor.shape)))
        begin += count
    return tuple(parts)


def _assert(condition: Any, message: str) -> None:
    """AssertionError unless the condition holds: what programs call where they may be traced."""
    if not condition:
        raise AssertionError(message)
