"""What quantization-aware training is made of: ranges, scales, and rounding to few integers."""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal
from oneflow.autograd.autograd_function import Function
from oneflow.autograd.autograd_mode import no_grad
from oneflow.framework import creation
from oneflow.nn.modules.module import Module

_C = _oneflow_internal._C


class _Settings(Module):
    """The settings that all of them share.

    quantization_formula "google" has the scale as a factor, symmetric or affine; "cambricon" as a
    power of two, whose exponent it gives.
    """

    def __init__(
        self,
        quantization_formula: str = "google",
        quantization_bit: int = 8,
        quantization_scheme: str = "symmetric",
    ) -> None:
        super().__init__()
        formula, bit, scheme = quantization_formula, quantization_bit, quantization_scheme
        name = type(self).__name__
        if formula not in ("google", "cambricon"):
            raise ValueError(
                f"[{name}] expects quantization_formula google or cambricon, got {formula!r}"
            )
        if scheme not in ("symmetric", "affine"):
            raise ValueError(
                f"[{name}] expects quantization_scheme symmetric or affine, got {scheme!r}"
            )
        if isinstance(bit, bool) or not isinstance(bit, int) or not 2 <= bit <= 8:
            raise ValueError(f"[{name}] expects quantization_bit from 2 to 8, got {bit!r}")
        self.quantization_formula = formula
        self.quantization_bit = bit
        self.quantization_scheme = scheme

    def extra_repr(self) -> str:
        """The settings."""
        return (
            f"quantization_formula={self.quantization_formula!r}, "
            f"quantization_bit={self.quantization_bit}, "
            f"quantization_scheme={self.quantization_scheme!r}"
        )

    @property
    def _affine(self) -> bool:
        return self.quantization_formula == "google" and self.quantization_scheme == "affine"

    def _scales(self, least: Any, most: Any) -> tuple[Any, Any]:
        """(scale, zero point) for numbers from `least` to `most`."""
        bit = self.quantization_bit
        if self._affine:
            scale = (most - least) / (2**bit - 1)
            return scale, -_C.round(least / scale)
        reach = _C.maximum(_C.abs(most), _C.abs(least))
        if self.quantization_formula == "google":
            return reach / (2 ** (bit - 1) - 1), creation.zeros_like(reach)
        return _C.floor(_C.log2(reach)) - (bit - 2), creation.zeros_like(reach)

    def _rounded(self, input: Any, scale: Any, zero_point: Any) -> tuple[Any, Any, Any]:
        """(integers, as floats; the factor that gives the numbers back; the zero point)."""
        if scale.numel() > 1:  # one for each index of the first axis
            shape = (-1,) + (1,) * (input.ndim - 1)
            scale, zero_point = _C.reshape(scale, shape), _C.reshape(zero_point, shape)
        if self.quantization_formula == "cambricon":
            scale = 2.0**scale
        if self._affine:
            zero = _C.round(zero_point)
            high = 2**self.quantization_bit - 1
            return _C.clamp(_C.round(input / scale + zero), 0, high), scale, zero
        high = 2 ** (self.quantization_bit - 1) - 1
        return _C.clamp(_C.round(input / scale), -high - 1, high), scale, None


class Quantization(_Settings):
    """The integers that stand for numbers, as floats: round(x / scale + zero_point), kept in range.

    Args:
        quantization_formula: "google" or "cambricon"; default "google"
        quantization_bit: of the integers, from 2 to 8; default 8
        quantization_scheme: "symmetric" or "affine"; default "symmetric"

    Shapes: input any; scale and zero_point (1,), or (first axis's length,); result as the input

    Raises:
        ValueError: a setting is out of range.

    Example:
        >>> import oneflow as flow
        >>> quantize = flow.nn.Quantization(quantization_bit=4)
        >>> scale, zero = flow.tensor([0.5]), flow.tensor([0.0])
        >>> quantize(flow.tensor([-9.0, 0.6, 1.0]), scale, zero)
        tensor([-8.,  1.,  2.], dtype=oneflow.float32)

    Source: Jacob et al., "Quantization and training of neural networks", 2018.
    """

    def forward(self, input: Any, scale: Any, zero_point: Any) -> Any:
        """See the class."""
        return self._rounded(input, scale, zero_point)[0]


class _StraightThrough(Function):
    """Gives other numbers in the place of its argument, whose gradient passes unchanged."""

    @staticmethod
    def forward(ctx: Any, input: Any, numbers: Any) -> Any:
        return numbers.clone()

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads[0], None


class FakeQuantization(_Settings):
    """Numbers rounded to those that integers of few bits stand for; gradients pass unchanged.

    Args:
        quantization_formula: "google" or "cambricon"; default "google"
        quantization_bit: of the integers, from 2 to 8; default 8
        quantization_scheme: "symmetric" or "affine"; default "symmetric"

    Shapes: input any; scale and zero_point (1,), or (first axis's length,); result as the input

    Raises:
        ValueError: a setting is out of range.

    Example:
        >>> import oneflow as flow
        >>> quantize = flow.nn.FakeQuantization(quantization_bit=4)
        >>> scale, zero = flow.tensor([0.5]), flow.tensor([0.0])
        >>> quantize(flow.tensor([-9.0, 0.6, 1.0]), scale, zero)
        tensor([-4.0000,  0.5000,  1.0000], dtype=oneflow.float32)

    Source: Jacob et al., "Quantization and training of neural networks", 2018.
    """

    def forward(self, input: Any, scale: Any, zero_point: Any) -> Any:
        """See the class."""
        with no_grad():
            integers, factor, zero = self._rounded(input.detach(), scale, zero_point)
            numbers = (integers if zero is None else integers - zero) * factor
        return _StraightThrough.apply(input, numbers)


class MinMaxObserver(_Settings):
    """The scale and zero point that fit the numbers of a tensor.

    Args:
        quantization_formula: "google" or "cambricon"; default "google"
        quantization_bit: of the integers, from 2 to 8; default 8
        quantization_scheme: "symmetric" or "affine"; default "symmetric"
        per_layer_quantization: one scale for all, or one for each index of the first axis

    Shapes: input any; results (1,), or (first axis's length,)

    Raises:
        ValueError: a setting is out of range.
        NotImplementedError: several scales with "cambricon".

    Example:
        >>> import oneflow as flow
        >>> scale, zero = flow.nn.MinMaxObserver(quantization_bit=4)(flow.tensor([-3.5, 1.0]))
        >>> scale
        tensor([0.5000], dtype=oneflow.float32)
    """

    def __init__(
        self,
        quantization_formula: str = "google",
        quantization_bit: int = 8,
        quantization_scheme: str = "symmetric",
        per_layer_quantization: bool = True,
    ) -> None:
        super().__init__(quantization_formula, quantization_bit, quantization_scheme)
        if quantization_formula == "cambricon" and not per_layer_quantization:
            raise NotImplementedError(
                "[MinMaxObserver] expects per_layer_quantization for cambricon, got False"
            )
        self.per_layer_quantization = per_layer_quantization

    def forward(self, input: Any) -> tuple[Any, Any]:
        """See the class."""
        with no_grad():
            rows = 1 if self.per_layer_quantization else input.shape[0]
            flat = _C.reshape(input.detach(), (rows, -1))
            return self._scales(_C.amin(flat, (1,)), _C.amax(flat, (1,)))


class MovingAverageMinMaxObserver(_Settings):
    """The scale and zero point that fit running averages of the largest and least numbers.

    Args:
        stop_update_after_iters: the last step at which the averages move; default 1
        quantization_formula: "google" or "cambricon"; default "google"
        quantization_bit: of the integers, from 2 to 8; default 8
        quantization_scheme: "symmetric" or "affine"; default "symmetric"
        momentum: weight of the averages so far; default 0.95

    Buffers:
        moving_max, moving_min: (1,), at first 0; the first numbers replace them

    Shapes: input any; current_train_step (1,) of integers; results (1,)

    Raises:
        ValueError: a setting is out of range.

    Example:
        >>> import oneflow as flow
        >>> observe = flow.nn.MovingAverageMinMaxObserver(quantization_bit=4)
        >>> scale, zero = observe(flow.tensor([-3.5, 1.0]), flow.tensor([0]))
        >>> scale
        tensor([0.5000], dtype=oneflow.float32)
    """

    def __init__(
        self,
        stop_update_after_iters: int = 1,
        quantization_formula: str = "google",
        quantization_bit: int = 8,
        quantization_scheme: str = "symmetric",
        momentum: float = 0.95,
    ) -> None:
        super().__init__(quantization_formula, quantization_bit, quantization_scheme)
        self.stop_update_after_iters = stop_update_after_iters
        self.momentum = momentum
        self.register_buffer("moving_max", creation.zeros(1))
        self.register_buffer("moving_min", creation.zeros(1))

    def reset_running_stats(self) -> None:
        """Sets the averages to 0: the next numbers replace them."""
        with no_grad():
            self.moving_max.zero_()
            self.moving_min.zero_()

    def _move(self, buffer: Any, value: float) -> None:
        before = buffer.item()
        mixed = before * self.momentum + value * (1 - self.momentum)
        buffer.fill_(value if before == 0 else mixed)

    def forward(self, input: Any, current_train_step: Any) -> tuple[Any, Any]:
        """See the class."""
        with no_grad():
            step = int(current_train_step.item())
            if self.training and step <= self.stop_update_after_iters:
                flat = _C.reshape(input.detach(), (-1,))
                least, most = _C.amin(flat, (0,)).item(), _C.amax(flat, (0,)).item()
                if self._affine:
                    self._move(self.moving_max, most)
                    self._move(self.moving_min, least)
                else:
                    self._move(self.moving_max, max(abs(most), abs(least)))
                    self.moving_min.copy_(self.moving_max)
            return self._scales(self.moving_min, self.moving_max)
