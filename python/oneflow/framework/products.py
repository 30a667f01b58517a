"""Products whose arguments come in several forms."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

from oneflow import _oneflow_internal
from oneflow.framework._out import written

_C = _oneflow_internal._C
Tensor = _oneflow_internal.Tensor

_LETTERS = string.ascii_uppercase + string.ascii_lowercase


def _term(labels: Sequence[Any]) -> str:
    """A list of labels, 0 to 51 or Ellipsis, as letters."""
    letters = []
    for label in labels:
        if label is Ellipsis:
            letters.append("...")
        elif isinstance(label, int) and 0 <= label < len(_LETTERS):
            letters.append(_LETTERS[label])
        else:
            raise ValueError(f"[einsum] expects labels in [0, 52) or Ellipsis, got {label!r}")
    return "".join(letters)


def einsum(equation: Any, *operands: Any) -> Any:
    """Sums products of elements as an equation says (Einstein's convention).

    Args:
        equation: labels of the operands' axes and, after "->", of the result's: "ik,kj->ij". A
            label that repeats in one operand takes the diagonal; "..." stands for axes that
            broadcast; without "->" the result has the labels that occur once, in alphabetical
            order
        operands: Tensors of one dtype, or a list of them

    The other form, `einsum(x, [0, 1], y, [1, 2], [0, 2])`, has lists of labels in place of letters.

    Returns:
        Tensor with the axes that the equation names

    Raises:
        RuntimeError: the equation is none, or does not fit the operands.
        ValueError: a label is none.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> flow.einsum("ij,kj->ik", x, x)
        tensor([[ 5., 11.],
                [11., 25.]], dtype=oneflow.float32)
        >>> flow.einsum(x, [0, 0], [])
        tensor(5., dtype=oneflow.float32)
    """
    if isinstance(equation, Tensor):
        words = [equation, *operands]
        tensors, labels = words[: len(words) // 2 * 2 : 2], words[1 : len(words) // 2 * 2 : 2]
        equation = ",".join(_term(part) for part in labels)
        if len(words) % 2 == 1:
            equation += "->" + _term(words[-1])
        return _C.einsum(equation, tensors)
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    return _C.einsum(equation, operands)


def tensordot(a: Any, b: Any, dims: Any = 2, out: Any = None) -> Any:
    """Sums products over pairs of axes.

    Args:
        a, b: Tensors of one dtype
        dims: how many of the last axes of `a` and the first of `b`; or two lists of axes; or either
            as a Tensor; default 2
        out: tensor of the result's shape and dtype to write into; default None, a new one

    Returns:
        Tensor with the other axes of `a`, then those of `b`

    Raises:
        TypeError: `dims` is of another type, or `out` is no tensor.
        RuntimeError, IndexError: the axes do not pair, or `out` has another shape or dtype.

    Example:
        >>> import oneflow as flow
        >>> flow.tensordot(flow.ones(2, 3, 4), flow.ones(4, 3, 5), dims=([1, 2], [1, 0])).shape
        oneflow.Size([2, 5])
    """
    return written("tensordot", _tensordot(a, b, dims), out)


def _tensordot(a: Any, b: Any, dims: Any) -> Any:
    if isinstance(dims, Tensor):
        dims = dims.item() if dims.numel() == 1 else dims.tolist()
    if isinstance(dims, int):
        return _C.tensordot(a, b, dims)
    if not isinstance(dims, (list, tuple)) or len(dims) != 2:
        raise TypeError(
            f"[tensordot] expects an int, two lists or a Tensor of them as dims, got {dims!r}"
        )
    first, second = (list(d) if isinstance(d, (list, tuple)) else [d] for d in dims)
    return _C.tensordot(a, b, first, second)
