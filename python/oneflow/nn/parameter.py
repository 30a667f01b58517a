"""Parameter: a tensor that a module trains."""

from __future__ import annotations

from typing import Any

from oneflow._oneflow_internal import Tensor
from oneflow.framework import creation


class Parameter(Tensor):
    """A tensor that a module which holds it as an attribute counts among its parameters.

    Args:
        data: a Tensor, whose memory is shared; default an empty one
        requires_grad: whether autograd computes its gradient; default True

    Raises:
        TypeError: `data` is no Tensor.
        RuntimeError: `requires_grad`, but the dtype has no gradients (integers, bool).

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Parameter(flow.ones(2))
        Parameter containing:
        tensor([1., 1.], dtype=oneflow.float32, requires_grad=True)
    """

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        if data is None:
            data = creation.empty(0)
        if not isinstance(data, Tensor):
            raise TypeError(f"[Parameter] expects a Tensor, got {type(data).__name__}")
        parameter = Tensor.__new__(cls, data)
        parameter.requires_grad = requires_grad
        return parameter
