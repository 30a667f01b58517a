"""Linear algebra: inverses, diagonals, cross products, norms.

Source: the names follow OneFlow's oneflow.linalg, which follows PyTorch's.
"""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal

_C = _oneflow_internal._C

__all__ = ["cross", "diagonal", "inv", "matrix_norm", "norm", "vector_norm"]

# Of vectors, of matrices, or of either as the number of dims says: see `help(oneflow._C.norm)`.
matrix_norm = _C.matrix_norm
norm = _C.norm
vector_norm = _C.vector_norm


def inv(self: Any) -> Any:
    """The inverse of a square matrix, or of many.

    Args:
        self: Tensor (..., n, n) of float32 or float64

    Returns:
        Tensor of the same shape

    Raises:
        RuntimeError: no square matrices, or (when the result is read) a singular one.

    Example:
        >>> import oneflow as flow
        >>> flow.linalg.inv(flow.tensor([[2.0, 0.0], [0.0, 4.0]]))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.2500]], dtype=oneflow.float32)
    """
    return _C.inv(self)


def diagonal(self: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """The diagonal of two axes, as the last axis; a view.

    Args:
        self: Tensor of at least 2 axes
        offset: which diagonal; default 0, the main one
        dim1, dim2: the two axes; default the last two

    Returns:
        Tensor that shares the memory

    Raises:
        IndexError: an axis out of range.

    Example:
        >>> import oneflow as flow
        >>> flow.linalg.diagonal(flow.tensor([[1, 2], [3, 4]]))
        tensor([1, 4], dtype=oneflow.int64)
    """
    return _C.diagonal(self, offset, dim1, dim2)


def cross(input: Any, other: Any, dim: int = -1) -> Any:
    """Cross products of vectors of three entries.

    Args:
        input, other: Tensors that broadcast together
        dim: the axis of the three entries; default the last

    Returns:
        Tensor of the common shape

    Raises:
        RuntimeError, IndexError: the shapes do not fit.

    Example:
        >>> import oneflow as flow
        >>> flow.linalg.cross(flow.tensor([1, 0, 0]), flow.tensor([0, 1, 0]))
        tensor([0, 0, 1], dtype=oneflow.int64)
    """
    return _C.linalg_cross(input, other, dim)
