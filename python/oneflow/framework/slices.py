"""Slices of several dims by lists of (start, stop, step)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oneflow import _oneflow_internal

Triple = Sequence[Any]  # start, stop, step; None for Python's default


def _bounds(caller: str, x: Any, slice_tup_list: Sequence[Triple]) -> tuple[list[int], ...]:
    """Start, stop and step of each dim of x; dims that are not named are whole."""
    if not isinstance(slice_tup_list, (list, tuple)) or len(slice_tup_list) > x.ndim:
        raise ValueError(
            f"[{caller}] expects a (start, stop, step) for at most {x.ndim} dims of shape "
            f"{tuple(x.shape)}, got {slice_tup_list!r}"
        )
    bounds: list[tuple[int, int, int]] = []
    for dim, size in enumerate(x.shape):
        triple = slice_tup_list[dim] if dim < len(slice_tup_list) else (None, None, None)
        if not isinstance(triple, (list, tuple)) or len(triple) != 3:
            raise ValueError(f"[{caller}] expects (start, stop, step), got {triple!r}")
        if triple[2] is not None and triple[2] <= 0:
            raise ValueError(f"[{caller}] expects steps that are positive, got {triple[2]}")
        bounds.append(builtin_slice(*triple).indices(size))
    starts, stops, steps = zip(*bounds) if bounds else ((), (), ())
    return list(starts), list(stops), list(steps)


builtin_slice = slice


def slice(input: Any, slice_tup_list: Sequence[Triple]) -> Any:
    """Takes every step-th element of each dim, from start up to stop.

    Args:
        input: tensor of at least one dim
        slice_tup_list: for each dim (start, stop, step), as Python's slices have them; None stands
            for the beginning, the end, and 1; dims behind the last are taken whole

    Returns:
        tensor that shares input's memory

    Raises:
        ValueError: too many dims, a triple of another length, or a step that is not positive.

    Example:
        >>> import oneflow as flow
        >>> flow.slice(flow.tensor([[1, 2], [3, 4]]), [[None, None, None], [0, 1, 1]]).tolist()
        [[1], [3]]
    """
    cut: Any = _oneflow_internal._C.slice  # takes as many arguments as `_bounds` gives
    return cut(input, *_bounds("slice", input, slice_tup_list))


def slice_update(input: Any, update: Any, slice_tup_list: Sequence[Triple]) -> Any:
    """Writes a tensor into a slice, in place.

    Args:
        input: tensor to write to
        update: tensor of the slice's shape; it is converted to input's dtype
        slice_tup_list: as for `slice`

    Returns:
        input

    Raises:
        ValueError: too many dims, a triple of another length, or a step that is not positive.
        RuntimeError: update is of another shape.

    Example:
        >>> import oneflow as flow
        >>> x = flow.zeros(4)
        >>> flow.slice_update(x, flow.ones(2), [[1, 4, 2]]).tolist()
        [0.0, 1.0, 0.0, 1.0]
    """
    starts, stops, steps = _bounds("slice_update", input, slice_tup_list)
    return _oneflow_internal._C.slice_update(input, update, starts, stops, steps, True)
