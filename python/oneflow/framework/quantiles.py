"""`oneflow.quantile` with the tensor that it may write into."""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal
from oneflow.framework._out import written

_C = _oneflow_internal._C


def quantile(
    input: Any,
    q: Any,
    dim: int | None = None,
    keepdim: bool = False,
    interpolation: str = "linear",
    out: Any = None,
) -> Any:
    """The element at a fraction of the way through sorted elements.

    Args:
        input: tensor of a floating dtype
        q: fraction in [0, 1], or a tensor of them, for a first axis of the result
        dim: axis to look along; default None, all elements
        keepdim: whether the axis stays, with size 1
        interpolation: "linear", "lower", "higher", "nearest" or "midpoint", for a place between two
            elements
        out: tensor of the result's shape and dtype to write into; default None, a new one

    Returns:
        Tensor without the axis; NaN where there is one

    Raises:
        IndexError: `dim` is out of range.
        RuntimeError: `q` is out of range, there is nothing to choose from, `input` is not floating,
            or `out` has another shape or dtype.
        ValueError: `interpolation` is another word.

    Example:
        >>> import oneflow as flow
        >>> flow.quantile(flow.tensor([1.0, 2.0, 3.0, 4.0]), 0.5).item()
        2.5
    """
    result = _C.quantile(input, q, dim, keepdim, interpolation)
    return written("quantile", result, out)
