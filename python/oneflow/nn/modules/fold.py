"""Fold and Unfold: windows as columns."""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal
from oneflow.nn.modules.module import Module
from oneflow.nn.modules.utils import ntuple

_C = _oneflow_internal._C


class _Windows(Module):
    """The settings of windows over two axes."""

    def __init__(self, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> None:
        super().__init__()
        name = type(self).__name__
        self.kernel_size = ntuple(name, "kernel_size", kernel_size, 2)
        self.dilation = ntuple(name, "dilation", dilation, 2)
        self.padding = ntuple(name, "padding", padding, 2)
        self.stride = ntuple(name, "stride", stride, 2)

    def extra_repr(self) -> str:
        """The settings."""
        return (
            f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, "
            f"stride={self.stride}"
        )


class Unfold(_Windows):
    """The elements of each window as a column.

    Args:
        kernel_size: lengths of a window: an int or two
        dilation: from one element of a window to the next; default 1
        padding: zeros around the input; default 0
        stride: from one window to the next; default 1

    Shapes: input (N, C, H, W), result (N, C * elements of a window, windows)

    Raises:
        TypeError, ValueError: a setting is out of range.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Unfold(2)(flow.arange(6.0).reshape(1, 1, 2, 3))
        tensor([[[0., 1.],
                 [1., 2.],
                 [3., 4.],
                 [4., 5.]]], dtype=oneflow.float32)
    """

    def __init__(
        self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        super().__init__(kernel_size, dilation, padding, stride)

    def forward(self, input: Any) -> Any:
        """Input: Tensor (N, C, H, W)."""
        return _C.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)


class Fold(_Windows):
    """The reverse of `Unfold`: sums what windows have at the same place.

    Args:
        output_size: lengths of the result: an int or two
        kernel_size: lengths of a window: an int or two
        dilation: from one element of a window to the next; default 1
        padding: zeros that were around the picture; default 0
        stride: from one window to the next; default 1

    Shapes: input (N, C * elements of a window, windows), result (N, C, *output_size)

    Raises:
        TypeError, ValueError: a setting is out of range.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Fold((2, 3), 2)(flow.ones(1, 4, 2))
        tensor([[[[1., 2., 1.],
                  [1., 2., 1.]]]], dtype=oneflow.float32)
    """

    def __init__(
        self,
        output_size: Any,
        kernel_size: Any,
        dilation: Any = 1,
        padding: Any = 0,
        stride: Any = 1,
    ) -> None:
        super().__init__(kernel_size, dilation, padding, stride)
        self.output_size = ntuple("Fold", "output_size", output_size, 2)

    def forward(self, input: Any) -> Any:
        """Input: Tensor (N, C * elements of a window, windows)."""
        return _C.fold(
            input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride
        )

    def extra_repr(self) -> str:
        """The settings."""
        return f"output_size={self.output_size}, {super().extra_repr()}"
