"""Dropout."""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal
from oneflow.nn.modules.module import Module

_C = _oneflow_internal._C


class _DropoutNd(Module):
    """What dropouts share."""

    def __init__(self, p: float = 0.5, inplace: bool = False, generator: Any = None) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"[{type(self).__name__}] expects p from 0 to 1, got {p}")
        self.p = p
        self.inplace = inplace
        self.generator = generator

    def extra_repr(self) -> str:
        """The settings."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """In training sets elements to 0, each with probability p, and scales others by 1 / (1 - p).

    Args:
        p: from 0 to 1; default 0.5
        inplace: whether to overwrite the input; default False
        generator: where the random numbers come from; default the process's own

    Shapes: input, addend and result have the same

    Raises:
        ValueError: `p` is not from 0 to 1.

    Example:
        >>> import oneflow as flow
        >>> dropout = flow.nn.Dropout(1.0)
        >>> dropout(flow.ones(2)), dropout.eval()(flow.ones(2))
        (tensor([0., 0.], dtype=oneflow.float32), tensor([1., 1.], dtype=oneflow.float32))

    Source: Srivastava et al., "Dropout", 2014.
    """

    def forward(self, x: Any, addend: Any = None) -> Any:
        """Input, result, and what is added to it: Tensor of any shape."""
        return _C.dropout(x, self.p, self.training, self.inplace, self.generator, addend=addend)


class Dropout1d(_DropoutNd):
    """Dropout of whole channels, for inputs with one spatial axis.

    Args:
        p: from 0 to 1; default 0.5
        inplace, generator: accepted; the input is left as it is, the process's generator draws

    Shapes: input and result (N, C, L) or (C, L)

    Raises:
        ValueError: `p` is not from 0 to 1.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Dropout1d().eval()(flow.ones(1, 1, 2))
        tensor([[[1., 1.]]], dtype=oneflow.float32)
    """

    def forward(self, x: Any) -> Any:
        """Input and result: Tensor (N, C, L) or (C, L)."""
        return _C.dropout1d(x, self.p, self.training)


class Dropout2d(_DropoutNd):
    """Dropout of whole channels, for inputs with two spatial axes.

    Args:
        p: from 0 to 1; default 0.5
        inplace, generator: accepted; the input is left as it is, the process's generator draws

    Shapes: input and result (N, C, H, W) or (C, H, W)

    Raises:
        ValueError: `p` is not from 0 to 1.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Dropout2d().eval()(flow.ones(1, 1, 1, 2))
        tensor([[[[1., 1.]]]], dtype=oneflow.float32)
    """

    def forward(self, x: Any) -> Any:
        """Input and result: Tensor (N, C, H, W) or (C, H, W)."""
        return _C.dropout2d(x, self.p, self.training)


class Dropout3d(_DropoutNd):
    """Dropout of whole channels, for inputs with three spatial axes.

    Args:
        p: from 0 to 1; default 0.5
        inplace, generator: accepted; the input is left as it is, the process's generator draws

    Shapes: input and result (N, C, D, H, W) or (C, D, H, W)

    Raises:
        ValueError: `p` is not from 0 to 1.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Dropout3d().eval()(flow.ones(1, 1, 1, 1, 2)).shape
        oneflow.Size([1, 1, 1, 1, 2])
    """

    def forward(self, x: Any) -> Any:
        """Input and result: Tensor (N, C, D, H, W) or (C, D, H, W)."""
        return _C.dropout3d(x, self.p, self.training)
