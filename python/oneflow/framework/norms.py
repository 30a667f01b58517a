"""`oneflow.norm` and `Tensor.norm`: the norm of all elements, or of vectors and matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oneflow import _oneflow_internal

_C = _oneflow_internal._C


def norm(
    input: Any,
    p: float | str | None = "fro",
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: Any = None,
) -> Any:
    """The norm of all elements taken as one vector, or over some dims.

    Formula: `(sum of abs(input) ** p) ** (1 / p)`.

    Args:
        input: tensor of a floating dtype
        p: order of the norm; "fro" and None are 2, inf and -inf give the greatest and the smallest
            absolute value, 0 counts elements that are not 0
        dim: one dim of a vector, or two of a matrix, whose norm of order 1, -1, inf or -inf is its
            greatest or smallest sum of a column or row; all elements by default
        keepdim: whether these dims stay, with size 1
        dtype: floating dtype to compute in; input's by default

    Returns:
        Tensor without these dims.

    Raises:
        IndexError: a dim out of range.
        RuntimeError: an order that there is not, or an input that is not floating.

    Source: https://docs.oneflow.org

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[3.0, 4.0], [6.0, 8.0]])
        >>> flow.norm(x, dim=1)
        tensor([ 5., 10.], dtype=oneflow.float32)
        >>> flow.norm(x, 1)
        tensor(21., dtype=oneflow.float32)
    """
    if p is None:
        p = "fro"
    if isinstance(p, str):
        return _C.norm(input, p, dim=dim, keepdim=keepdim, dtype=dtype)
    return _C.norm(input, p, dim=dim, keepdim=keepdim, dtype=dtype, for_norm=dim is None)
