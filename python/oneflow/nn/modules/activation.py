"""Activations."""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal
from oneflow.nn import functional
from oneflow.nn.modules.module import Module

_C = _oneflow_internal._C


class ReLU(Module):
    """max(x, 0), element by element; NaN stays NaN.

    Args:
        inplace: whether to overwrite the input; default False

    Shapes: input and result have the same

    Example:
        >>> import oneflow as flow
        >>> flow.nn.ReLU()(flow.tensor([-1.0, 2.0]))
        tensor([0., 2.], dtype=oneflow.float32)
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Any) -> Any:
        """Input and result: Tensor of any shape."""
        return functional.relu(input, self.inplace) if self.inplace else _C.relu(input)

    def extra_repr(self) -> str:
        """The settings."""
        return "inplace=True" if self.inplace else ""


class LogSoftmax(Module):
    """log(exp(x) / sum of exp(x) along one axis), computed without overflow.

    Args:
        dim: the axis; default the last but for tensors of 1 or 3 axes the first, as OneFlow has it

    Shapes: input and result have the same

    Raises:
        IndexError: the input has no such axis.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.LogSoftmax(dim=1)(flow.zeros(1, 2))
        tensor([[-0.6931, -0.6931]], dtype=oneflow.float32)
    """

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Any) -> Any:
        """Input and result: Tensor of any shape."""
        return functional.log_softmax(input, self.dim)

    def extra_repr(self) -> str:
        """The settings."""
        return f"dim={self.dim}"
