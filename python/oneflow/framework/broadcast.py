"""Shapes that broadcast, and grids of vectors."""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal

_C = _oneflow_internal._C
Size = _oneflow_internal.Size


def broadcast_shapes(*shapes: Any) -> Any:
    """The shape that tensors of these shapes broadcast to.

    Args:
        shapes: sequences of ints, or ints

    Raises:
        RuntimeError: the shapes do not broadcast.

    Example:
        >>> import oneflow as flow
        >>> flow.broadcast_shapes((2, 1), (3,))
        oneflow.Size([2, 3])
    """
    given = [(shape,) if isinstance(shape, int) else tuple(shape) for shape in shapes]
    out: list[int] = [1] * max((len(shape) for shape in given), default=0)
    for shape in given:
        for i in range(1, len(shape) + 1):
            if shape[-i] == 1:
                continue
            if out[-i] not in (1, shape[-i]):
                raise RuntimeError(f"[broadcast_shapes] expects shapes that broadcast, got {given}")
            out[-i] = shape[-i]
    return Size(out)


def broadcast_tensors(*tensors: Any) -> Any:
    """The tensors, expanded to the shape that they broadcast to.

    Args:
        tensors: tensors, or one sequence of them

    Raises:
        RuntimeError: the shapes do not broadcast.

    Example:
        >>> import oneflow as flow
        >>> [x.tolist() for x in flow.broadcast_tensors(flow.tensor([1]), flow.tensor([2, 3]))]
        [[1, 1], [2, 3]]
    """
    return _C.broadcast_tensors(_several(tensors))


def meshgrid(*tensors: Any, indexing: str = "ij") -> Any:
    """A grid of each vector, constant along the dims of the others.

    Args:
        tensors: vectors, or one sequence of them
        indexing: "ij", or "xy" for the first two dims exchanged

    Raises:
        RuntimeError: a tensor of more than one dim, or another indexing.

    Example:
        >>> import oneflow as flow
        >>> [x.tolist() for x in flow.meshgrid(flow.tensor([1, 2]), flow.tensor([3]))]
        [[[1], [2]], [[3], [3]]]
    """
    return _C.meshgrid(_several(tensors), indexing)


def _several(tensors: tuple[Any, ...]) -> Any:
    one = len(tensors) == 1 and isinstance(tensors[0], (list, tuple))
    return tensors[0] if one else tensors
