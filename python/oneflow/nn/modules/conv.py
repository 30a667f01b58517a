"""Convolutions and transposed convolutions."""

from __future__ import annotations

import math
from typing import Any

from oneflow import _oneflow_internal
from oneflow.framework import creation
from oneflow.nn import init
from oneflow.nn.modules.module import Module
from oneflow.nn.modules.utils import check_count, ntuple
from oneflow.nn.parameter import Parameter

_C = _oneflow_internal._C


class _ConvNd(Module):
    """What all convolutions share: their settings, their parameters and how these begin."""

    _axes = 0
    _transposed = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        output_padding: Any,
        dilation: Any,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any,
        dtype: Any,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        for setting, value in (
            ("in_channels", in_channels),
            ("out_channels", out_channels),
            ("groups", groups),
        ):
            check_count(name, setting, value)
        if padding_mode != "zeros":
            raise ValueError(f"[{name}] expects padding_mode zeros, got {padding_mode!r}")
        if in_channels % groups or out_channels % groups:
            raise ValueError(
                f"[{name}] expects channels that {groups} groups divide, "
                f"got in_channels {in_channels} and out_channels {out_channels}"
            )
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = ntuple(name, "kernel_size", kernel_size, self._axes, least=1)
        self.stride = ntuple(name, "stride", stride, self._axes, least=1)
        self.dilation = ntuple(name, "dilation", dilation, self._axes, least=1)
        self.padding = self._padding(padding)
        self.output_padding = ntuple(name, "output_padding", output_padding, self._axes)
        self.groups = groups
        self.padding_mode = padding_mode
        outer, inner = out_channels, in_channels // groups
        if self._transposed:
            outer, inner = in_channels, out_channels // groups
        shape = (outer, inner, *self.kernel_size)
        self.weight = Parameter(creation.empty(*shape, device=device, dtype=dtype))
        shift = creation.empty(out_channels, device=device, dtype=dtype) if bias else None
        self.register_parameter("bias", None if shift is None else Parameter(shift))
        self.reset_parameters()

    def _padding(self, padding: Any) -> Any:
        name = type(self).__name__
        if not isinstance(padding, str) or self._transposed:
            return ntuple(name, "padding", padding, self._axes)
        if padding not in ("same", "valid"):
            raise ValueError(f"[{name}] expects padding same, valid or numbers, got {padding!r}")
        if padding == "same" and any(step != 1 for step in self.stride):
            raise ValueError(f"[{name}] expects a stride of 1 for padding same, got {self.stride}")
        return padding

    def reset_parameters(self) -> None:
        """Draws the parameters anew."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        """The settings."""
        parts = [
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}",
            f"stride={self.stride}",
        ]
        if self.padding != (0,) * self._axes:
            parts.append(f"padding={self.padding!r}")
        if self.output_padding != (0,) * self._axes:
            parts.append(f"output_padding={self.output_padding}")
        if self.dilation != (1,) * self._axes:
            parts.append(f"dilation={self.dilation}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        return ", ".join(parts)


class _Conv(_ConvNd):
    """Conv1d, Conv2d and Conv3d: they differ in the op."""

    _op: Any = None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, 0, dilation, groups, bias,
            padding_mode, device, dtype,
        )  # fmt: skip

    def _conv_forward(self, x: Any, weight: Any, bias: Any) -> Any:
        return type(self)._op(
            x, weight, bias, self.stride, self.padding, self.dilation, self.groups
        )

    def forward(self, x: Any) -> Any:
        """Input: Tensor (N, in_channels, ...); result: Tensor (N, out_channels, ...)."""
        return self._conv_forward(x, self.weight, self.bias)


class Conv1d(_Conv):
    """Convolution (cross-correlation) along one axis.

    Args:
        in_channels, out_channels: how many
        kernel_size, stride, padding, dilation: an int; padding also "same", "valid"
        groups: into how many parts the channels are split; default 1
        bias: whether to add one; default True
        padding_mode: "zeros"
        device, dtype: of the parameters

    Parameters:
        weight: (out_channels, in_channels / groups, kernel_size), at first uniform in
            +-1 / sqrt(in_channels / groups * kernel_size)
        bias: (out_channels,), likewise, or None

    Shapes: input (N, in_channels, L), result (N, out_channels, L'), with
    L' = (L + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1

    Raises:
        ValueError: a setting is out of range, or the groups do not divide the channels.
        RuntimeError: the input has other channels.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Conv1d(4, 6, 3, padding=1)(flow.ones(2, 4, 10)).shape
        oneflow.Size([2, 6, 10])
    """

    _axes = 1
    _op = staticmethod(_C.conv1d)


class Conv2d(_Conv):
    """Convolution (cross-correlation) along two axes.

    Args:
        in_channels, out_channels: how many
        kernel_size, stride, padding, dilation: an int, or two; padding also "same" or "valid"
        groups: into how many parts the channels are split; default 1
        bias: whether to add one; default True
        padding_mode: "zeros"
        device, dtype: of the parameters

    Parameters:
        weight: (out_channels, in_channels / groups, kernel height, width), at first uniform in
            +-1 / sqrt(in_channels / groups * height * width)
        bias: (out_channels,), likewise, or None

    Shapes: input (N, in_channels, H, W), result (N, out_channels, H', W'), with
    H' = (H + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1, W' likewise

    Raises:
        ValueError: a setting is out of range, or the groups do not divide the channels.
        RuntimeError: the input has other channels.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Conv2d(3, 8, 3, stride=2, padding=1)(flow.ones(1, 3, 8, 8)).shape
        oneflow.Size([1, 8, 4, 4])
    """

    _axes = 2
    _op = staticmethod(_C.conv2d)


class Conv3d(_Conv):
    """Convolution (cross-correlation) along three axes.

    Args:
        in_channels, out_channels: how many
        kernel_size, stride, padding, dilation: an int, or three; padding also "same" or "valid"
        groups: into how many parts the channels are split; default 1
        bias: whether to add one; default True
        padding_mode: "zeros"
        device, dtype: of the parameters

    Parameters:
        weight: (out_channels, in_channels / groups, kernel ...), at first uniform in
            +-1 / sqrt(in_channels / groups * elements of the kernel)
        bias: (out_channels,), likewise, or None

    Shapes: input (N, in_channels, D, H, W), result (N, out_channels, D', H', W'), as in `Conv2d`

    Raises:
        ValueError: a setting is out of range, or the groups do not divide the channels.
        RuntimeError: the input has other channels.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Conv3d(2, 4, 3)(flow.ones(1, 2, 5, 6, 7)).shape
        oneflow.Size([1, 4, 3, 4, 5])
    """

    _axes = 3
    _op = staticmethod(_C.conv3d)


class _ConvTranspose(_ConvNd):
    """ConvTranspose1d, 2d and 3d: they differ in the op."""

    _transposed = True
    _op: Any = None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, output_padding, dilation,
            groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def forward(self, x: Any, output_size: Any = None) -> Any:
        """Input: Tensor (N, in_channels, ...); result: Tensor (N, out_channels, ...).

        `output_size`: the lengths that the result should have, instead of output_padding.
        """
        more = self.output_padding if output_size is None else self._fill(x, output_size)
        return type(self)._op(
            x, self.weight, self.bias, self.stride, self.padding, more, self.groups, self.dilation
        )

    def _fill(self, x: Any, output_size: Any) -> tuple[int, ...]:
        """The output padding that gives a result of these lengths."""
        name = type(self).__name__
        wanted = tuple(output_size)[-self._axes :]
        padding = []
        for i, size in enumerate(ntuple(name, "output_size", wanted, self._axes)):
            reach = self.dilation[i] * (self.kernel_size[i] - 1) + 1
            length = (x.shape[x.ndim - self._axes + i] - 1) * self.stride[i] + reach
            missing = size - (length - 2 * self.padding[i])
            if not 0 <= missing < max(self.stride[i], self.dilation[i]):
                raise ValueError(
                    f"[{name}] expects an output_size that stride and dilation allow, got {wanted}"
                )
            padding.append(missing)
        return tuple(padding)


class ConvTranspose1d(_ConvTranspose):
    """Transposed convolution along one axis: what the gradient of `Conv1d` does.

    Args:
        in_channels, out_channels: how many
        kernel_size, stride, padding, output_padding: an int, or a list of one
        groups: into how many parts the channels are split; default 1
        bias: whether to add one; default True
        dilation: an int, or a list of one
        padding_mode: "zeros"
        device, dtype: of the parameters

    Parameters:
        weight: (in_channels, out_channels / groups, kernel_size), at first uniform in
            +-1 / sqrt(out_channels / groups * kernel_size)
        bias: (out_channels,), likewise, or None

    Shapes: input (N, in_channels, L), result (N, out_channels, L'), with
    L' = (L - 1) * stride - 2 * padding + dilation * (kernel_size - 1) + output_padding + 1

    Raises:
        ValueError: a setting is out of range, or the groups do not divide the channels.
        RuntimeError: the input has other channels.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.ConvTranspose1d(4, 6, 3, stride=2)(flow.ones(2, 4, 10)).shape
        oneflow.Size([2, 6, 21])
    """

    _axes = 1
    _op = staticmethod(_C.deconv1d)


class ConvTranspose2d(_ConvTranspose):
    """Transposed convolution along two axes: what the gradient of `Conv2d` does.

    Args:
        in_channels, out_channels: how many
        kernel_size, stride, padding, output_padding: an int, or two
        groups: into how many parts the channels are split; default 1
        bias: whether to add one; default True
        dilation: an int, or two
        padding_mode: "zeros"
        device, dtype: of the parameters

    Parameters:
        weight: (in_channels, out_channels / groups, kernel height, width), at first uniform in
            +-1 / sqrt(out_channels / groups * height * width)
        bias: (out_channels,), likewise, or None

    Shapes: input (N, in_channels, H, W), result (N, out_channels, H', W'), as in `ConvTranspose1d`

    Raises:
        ValueError: a setting is out of range, or the groups do not divide the channels.
        RuntimeError: the input has other channels.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.ConvTranspose2d(3, 8, 2, stride=2)(flow.ones(1, 3, 4, 4)).shape
        oneflow.Size([1, 8, 8, 8])
    """

    _axes = 2
    _op = staticmethod(_C.deconv2d)


class ConvTranspose3d(_ConvTranspose):
    """Transposed convolution along three axes: what the gradient of `Conv3d` does.

    Args:
        in_channels, out_channels: how many
        kernel_size, stride, padding, output_padding: an int, or three
        groups: into how many parts the channels are split; default 1
        bias: whether to add one; default True
        dilation: an int, or three
        padding_mode: "zeros"
        device, dtype: of the parameters

    Parameters:
        weight: (in_channels, out_channels / groups, kernel ...), at first uniform in
            +-1 / sqrt(out_channels / groups * elements of the kernel)
        bias: (out_channels,), likewise, or None

    Shapes: input (N, in_channels, D, H, W), result (N, out_channels, D', H', W'), as in
    `ConvTranspose1d`

    Raises:
        ValueError: a setting is out of range, or the groups do not divide the channels.
        RuntimeError: the input has other channels.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.ConvTranspose3d(2, 4, 2)(flow.ones(1, 2, 3, 3, 3)).shape
        oneflow.Size([1, 4, 4, 4, 4])
    """

    _axes = 3
    _op = staticmethod(_C.deconv3d)
