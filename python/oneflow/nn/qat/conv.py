"""Convolutions whose input and weight are rounded as if they were integers of few bits."""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal
from oneflow.framework import creation
from oneflow.nn.modules.conv import Conv1d, Conv2d, Conv3d, _Conv
from oneflow.nn.modules.quantization import (
    FakeQuantization,
    MinMaxObserver,
    MovingAverageMinMaxObserver,
)


class _QatConv(_Conv):
    """What the three share: the observers of input and weight, and the rounding."""

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
        quantization_formula: str = "google",
        quantization_bit: int = 8,
        quantization_scheme: str = "symmetric",
        weight_quant_per_layer: bool = True,
        input_quant_momentum: float = 0.95,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias,
            padding_mode,
        )  # fmt: skip
        settings = (quantization_formula, quantization_bit, quantization_scheme)
        self.input_min_max_observer = MovingAverageMinMaxObserver(
            1, *settings, momentum=input_quant_momentum
        )
        step = creation.zeros(1, dtype=_oneflow_internal.int64)
        self.register_buffer("current_train_step", step)
        self.weight_min_max_observer = MinMaxObserver(*settings, weight_quant_per_layer)
        self.fake_quantizer = FakeQuantization(*settings)

    def forward(self, x: Any) -> Any:
        """Input: Tensor (N, in_channels, ...); result: Tensor (N, out_channels, ...)."""
        scale, zero = self.input_min_max_observer(x, self.current_train_step)
        rounded = self.fake_quantizer(x, scale, zero)
        weight = self.fake_quantizer(self.weight, *self.weight_min_max_observer(self.weight))
        return self._conv_forward(rounded, weight, self.bias)


class QatConv1d(_QatConv, Conv1d):
    """`Conv1d` for quantization-aware training.

    Args: as `Conv1d`, then
        quantization_formula, quantization_bit, quantization_scheme: see `FakeQuantization`
        weight_quant_per_layer: see `MinMaxObserver`, for the weight
        input_quant_momentum: see `MovingAverageMinMaxObserver`, for the input

    Shapes and errors: as `Conv1d`

    Example:
        >>> import oneflow as flow
        >>> flow.nn.QatConv1d(2, 3, 3)(flow.ones(1, 2, 5)).shape
        oneflow.Size([1, 3, 3])
    """


class QatConv2d(_QatConv, Conv2d):
    """`Conv2d` for quantization-aware training; see `QatConv1d`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.QatConv2d(2, 3, 3)(flow.ones(1, 2, 5, 5)).shape
        oneflow.Size([1, 3, 3, 3])
    """


class QatConv3d(_QatConv, Conv3d):
    """`Conv3d` for quantization-aware training; see `QatConv1d`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.QatConv3d(2, 3, 3)(flow.ones(1, 2, 5, 5, 5)).shape
        oneflow.Size([1, 3, 3, 3, 3])
    """
