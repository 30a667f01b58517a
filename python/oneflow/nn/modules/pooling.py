"""Pooling: the largest or the mean element of each window."""

from __future__ import annotations

import os
from typing import Any

from oneflow import _oneflow_internal
from oneflow.nn import functional
from oneflow.nn.modules.module import Module
from oneflow.nn.modules.utils import ntuple

_C = _oneflow_internal._C


class _Pool(Module):
    """What poolings with windows share."""

    _axes = 0

    def __init__(self, kernel_size: Any, stride: Any, padding: Any) -> None:
        super().__init__()
        name = type(self).__name__
        self.kernel_size = ntuple(name, "kernel_size", kernel_size, self._axes)
        self.stride = self.kernel_size
        if stride is not None:
            self.stride = ntuple(name, "stride", stride, self._axes)
        self.padding = ntuple(name, "padding", padding, self._axes)

    def extra_repr(self) -> str:
        """The settings."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _MaxPool(_Pool):
    """MaxPool1d to 3d."""

    _op = ""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__(kernel_size, stride, padding)
        self.dilation = ntuple(type(self).__name__, "dilation", dilation, self._axes)
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode
        # Images (N, H, W, C), for who sets the variable, as OneFlow has it.
        last = self._axes == 2 and os.environ.get("ONEFLOW_ENABLE_NHWC") == "1"
        self.channel_pos = "channels_last" if last else "channels_first"

    def forward(self, x: Any) -> Any:
        """Input: Tensor (N, C, ...); result: Tensor, or (Tensor, Tensor of int64)."""
        return getattr(functional, self._op)(
            x,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            self.return_indices,
            self.ceil_mode,
            self.channel_pos,
        )

    def extra_repr(self) -> str:
        """The settings."""
        return f"{super().extra_repr()}, dilation={self.dilation}, ceil_mode={self.ceil_mode}"


class MaxPool1d(_MaxPool):
    """The largest element of each window along the last axis.

    Args:
        kernel_size: elements in a window: an int, or a list of one
        stride: from one window to the next; default the window's length
        padding: elements of minus infinity at both ends; default 0
        dilation: from one element of a window to the next; default 1
        return_indices: whether to give the places of these elements in the axis, too
        ceil_mode: whether a window may reach beyond the end; default False

    Shapes: input (N, C, L), result (N, C, L'), with
    L' = (L + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1

    Raises:
        TypeError, ValueError: a setting is out of range.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.MaxPool1d(2)(flow.tensor([[[1.0, 3.0, 2.0, 0.0]]]))
        tensor([[[3., 2.]]], dtype=oneflow.float32)
    """

    _axes = 1
    _op = "max_pool1d"


class MaxPool2d(_MaxPool):
    """The largest element of each window along the last two axes.

    Args: as `MaxPool1d`, with an int or two; the places of `return_indices` are in a plane H * W

    Shapes: input (N, C, H, W), result (N, C, H', W'), as in `MaxPool1d`

    Example:
        >>> import oneflow as flow
        >>> flow.nn.MaxPool2d(3, stride=2, padding=1)(flow.ones(1, 2, 8, 8)).shape
        oneflow.Size([1, 2, 4, 4])
    """

    _axes = 2
    _op = "max_pool2d"


class MaxPool3d(_MaxPool):
    """The largest element of each window along the last three axes.

    Args: as `MaxPool1d`, with an int or three; the places of `return_indices` are in D * H * W

    Shapes: input (N, C, D, H, W), result (N, C, D', H', W'), as in `MaxPool1d`

    Example:
        >>> import oneflow as flow
        >>> flow.nn.MaxPool3d(2)(flow.ones(1, 2, 4, 4, 6)).shape
        oneflow.Size([1, 2, 2, 2, 3])
    """

    _axes = 3
    _op = "max_pool3d"


class _AvgPool(_Pool):
    """AvgPool1d to 3d."""

    _op = ""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = 0,
    ) -> None:
        super().__init__(kernel_size, stride, padding)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = int(divisor_override or 0)

    def forward(self, x: Any) -> Any:
        """Input and result: Tensor (N, C, ...)."""
        return getattr(_C, self._op)(
            x,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )

    def extra_repr(self) -> str:
        """The settings."""
        return f"{super().extra_repr()}, ceil_mode={self.ceil_mode}"


class AvgPool1d(_AvgPool):
    """The mean of each window along the last axis.

    Args:
        kernel_size: elements in a window: an int, or a list of one
        stride: from one window to the next; default the window's length
        padding: zeros at both ends; default 0
        ceil_mode: whether a window may reach beyond the end; default False
        count_include_pad: whether padding counts as elements; default True

    Shapes: input (N, C, L), result (N, C, L'), with
    L' = (L + 2 * padding - kernel_size) // stride + 1

    Raises:
        TypeError, ValueError: a setting is out of range.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.AvgPool1d(2)(flow.tensor([[[1.0, 3.0, 2.0, 0.0]]]))
        tensor([[[2., 1.]]], dtype=oneflow.float32)
    """

    _axes = 1
    _op = "avg_pool1d"

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)


class AvgPool2d(_AvgPool):
    """The mean of each window along the last two axes.

    Args: as `AvgPool1d`, with an int or two, and
        divisor_override: what sums are divided by, if not 0 or None

    Shapes: input (N, C, H, W), result (N, C, H', W'), as in `AvgPool1d`

    Example:
        >>> import oneflow as flow
        >>> flow.nn.AvgPool2d(2)(flow.ones(1, 2, 8, 8)).shape
        oneflow.Size([1, 2, 4, 4])
    """

    _axes = 2
    _op = "avg_pool2d"


class AvgPool3d(_AvgPool):
    """The mean of each window along the last three axes.

    Args: as `AvgPool2d`, with an int or three

    Shapes: input (N, C, D, H, W), result (N, C, D', H', W'), as in `AvgPool1d`

    Example:
        >>> import oneflow as flow
        >>> flow.nn.AvgPool3d(2)(flow.ones(1, 2, 4, 4, 6)).shape
        oneflow.Size([1, 2, 2, 2, 3])
    """

    _axes = 3
    _op = "avg_pool3d"


def _output_size(name: str, size: Any, axes: int) -> Any:
    """`size` as given, checked; None in it stands for the input's length."""
    if size is None:
        raise TypeError(f"[{name}] expects output_size as an int or {axes} of them, got None")
    if isinstance(size, int):
        return (size,) * axes
    sizes = tuple(size)
    ntuple(name, "output_size", [1 if one is None else one for one in sizes], axes)
    return sizes * axes if len(sizes) == 1 else sizes


class _AdaptivePool(Module):
    """What adaptive poolings share."""

    _axes = 0
    _op = ""

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = _output_size(type(self).__name__, output_size, self._axes)

    def _sizes(self, x: Any) -> tuple[int, ...]:
        if x.ndim != self._axes + 2:
            raise ValueError(
                f"[{type(self).__name__}] expects an input of {self._axes + 2} axes, "
                f"got shape {tuple(x.shape)}"
            )
        own = zip(self.output_size, x.shape[2:])
        return tuple(length if size is None else size for size, length in own)

    def forward(self, x: Any) -> Any:
        """Input: Tensor (N, C, ...); result: Tensor (N, C, *output_size)."""
        return getattr(_C, self._op)(x, self._sizes(x))

    def extra_repr(self) -> str:
        """The settings."""
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptivePool):
    """Means of as many windows as the result should have, along the last axis.

    Args:
        output_size: the length of the result's last axis

    Shapes: input (N, C, L), result (N, C, output_size)

    Raises:
        TypeError: `output_size` is None.
        ValueError: the input has other axes.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.AdaptiveAvgPool1d(2)(flow.tensor([[[1.0, 3.0, 2.0, 0.0]]]))
        tensor([[[2., 1.]]], dtype=oneflow.float32)
    """

    _axes = 1
    _op = "adaptive_avg_pool1d"


class AdaptiveAvgPool2d(_AdaptivePool):
    """Means of as many windows as the result should have, along the last two axes.

    Args:
        output_size: the result's lengths: an int or two; None for the input's

    Shapes: input (N, C, H, W), result (N, C, *output_size)

    Raises:
        TypeError: `output_size` is None.
        ValueError: the input has other axes.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.AdaptiveAvgPool2d((1, None))(flow.ones(1, 2, 7, 5)).shape
        oneflow.Size([1, 2, 1, 5])
    """

    _axes = 2
    _op = "adaptive_avg_pool2d"


class AdaptiveAvgPool3d(_AdaptivePool):
    """Means of as many windows as the result should have, along the last three axes.

    Args:
        output_size: the result's lengths: an int or three; None for the input's

    Shapes: input (N, C, D, H, W), result (N, C, *output_size)

    Raises:
        TypeError: `output_size` is None.
        ValueError: the input has other axes.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.AdaptiveAvgPool3d(2)(flow.ones(1, 2, 7, 5, 4)).shape
        oneflow.Size([1, 2, 2, 2, 2])
    """

    _axes = 3
    _op = "adaptive_avg_pool3d"


class _AdaptiveMaxPool(_AdaptivePool):
    """AdaptiveMaxPool1d to 3d."""

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices

    def forward(self, x: Any) -> Any:
        """Input: Tensor (N, C, ...); result: Tensor, or (Tensor, Tensor of int64)."""
        both = getattr(_C, self._op)(x, self._sizes(x))
        return tuple(both) if self.return_indices else both[0]


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """The largest elements of as many windows as the result should have, along the last axis.

    Args:
        output_size: the length of the result's last axis
        return_indices: whether to give the places of these elements, too; default False

    Shapes: input (N, C, L), result (N, C, output_size)

    Raises:
        TypeError: `output_size` is None.
        ValueError: the input has other axes.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.AdaptiveMaxPool1d(2)(flow.tensor([[[1.0, 3.0, 2.0, 0.0]]]))
        tensor([[[3., 2.]]], dtype=oneflow.float32)
    """

    _axes = 1
    _op = "adaptive_max_pool1d"


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """The largest elements of as many windows as the result should have, along the last two axes.

    Args:
        output_size: the result's lengths: an int or two; None for the input's
        return_indices: whether to give the places of these elements, too; default False

    Shapes: input (N, C, H, W), result (N, C, *output_size)

    Example:
        >>> import oneflow as flow
        >>> flow.nn.AdaptiveMaxPool2d(3)(flow.ones(1, 2, 7, 5)).shape
        oneflow.Size([1, 2, 3, 3])
    """

    _axes = 2
    _op = "adaptive_max_pool2d"


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """The largest elements of as many windows as the result should have, along the last three axes.

    Args:
        output_size: the result's lengths: an int or three; None for the input's
        return_indices: whether to give the places of these elements, too; default False

    Shapes: input (N, C, D, H, W), result (N, C, *output_size)

    Example:
        >>> import oneflow as flow
        >>> flow.nn.AdaptiveMaxPool3d(3)(flow.ones(1, 2, 7, 5, 4)).shape
        oneflow.Size([1, 2, 3, 3, 3])
    """

    _axes = 3
    _op = "adaptive_max_pool3d"
