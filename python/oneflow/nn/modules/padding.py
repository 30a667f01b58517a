"""Padding of the last axes."""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal
from oneflow.nn.modules.module import Module
from oneflow.nn.modules.utils import ntuple

_C = _oneflow_internal._C


class _Pad(Module):
    """What all paddings share."""

    _sides = 0
    _mode = "constant"
    value: float = 0

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = list(ntuple(type(self).__name__, "padding", padding, self._sides))

    def forward(self, x: Any) -> Any:
        """Input: Tensor (N, C, ...); result: the same, longer."""
        return _C.pad(x, self.padding, self._mode, self.value)

    def extra_repr(self) -> str:
        """The settings."""
        return str(tuple(self.padding))


class _ConstantPad(_Pad):
    """ConstantPad1d to 3d."""

    def __init__(self, padding: Any, value: float = 0) -> None:
        super().__init__(padding)
        self.value = value

    def extra_repr(self) -> str:
        """The settings."""
        return f"padding={tuple(self.padding)}, value={self.value}"


class ConstantPad1d(_ConstantPad):
    """Puts a value before and behind the last axis.

    Args:
        padding: how many, an int, or (left, right)
        value: default 0

    Shapes: input (..., L), result (..., left + L + right)

    Raises:
        TypeError, ValueError: `padding` is something else.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.ConstantPad1d((1, 0), 5.0)(flow.ones(1, 1, 2))
        tensor([[[5., 1., 1.]]], dtype=oneflow.float32)
    """

    _sides = 2


class ConstantPad2d(_ConstantPad):
    """Puts a value around the last two axes.

    Args:
        padding: how many, an int, or (left, right, top, bottom)
        value: default 0

    Shapes: input (..., H, W), result (..., top + H + bottom, left + W + right)

    Raises:
        TypeError, ValueError: `padding` is something else.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.ConstantPad2d(1, 5.0)(flow.ones(1, 1, 2, 2)).shape
        oneflow.Size([1, 1, 4, 4])
    """

    _sides = 4


class ConstantPad3d(_ConstantPad):
    """Puts a value around the last three axes.

    Args:
        padding: how many, an int, or (left, right, top, bottom, front, back)
        value: default 0

    Shapes: input (..., D, H, W), result (..., front + D + back, top + H + bottom, left + W + right)

    Raises:
        TypeError, ValueError: `padding` is something else.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.ConstantPad3d(1)(flow.ones(1, 1, 2, 2, 2)).shape
        oneflow.Size([1, 1, 4, 4, 4])
    """

    _sides = 6


class ZeroPad2d(_Pad):
    """Puts zeros around the last two axes.

    Args:
        padding: how many, an int, or (left, right, top, bottom)

    Shapes: input (..., H, W), result (..., top + H + bottom, left + W + right)

    Raises:
        TypeError, ValueError: `padding` is something else.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.ZeroPad2d((1, 0, 0, 0))(flow.ones(1, 1, 1, 2))
        tensor([[[[0., 1., 1.]]]], dtype=oneflow.float32)
    """

    _sides = 4


class ReflectionPad1d(_Pad):
    """Puts the last axis's own elements before and behind it, mirrored at its first and last.

    Args:
        padding: how many, an int, or (left, right), below the axis's length

    Shapes: input (..., L), result (..., left + L + right)

    Raises:
        TypeError, ValueError: `padding` is something else.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.ReflectionPad1d((2, 0))(flow.tensor([[[1.0, 2.0, 3.0]]]))
        tensor([[[3., 2., 1., 2., 3.]]], dtype=oneflow.float32)
    """

    _sides = 2
    _mode = "reflect"


class ReflectionPad2d(_Pad):
    """`ReflectionPad1d` along the last two axes.

    Args:
        padding: how many, an int, or (left, right, top, bottom), below the axes' lengths

    Shapes: input (..., H, W), result (..., top + H + bottom, left + W + right)

    Raises:
        TypeError, ValueError: `padding` is something else.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.ReflectionPad2d(1)(flow.ones(1, 1, 2, 2)).shape
        oneflow.Size([1, 1, 4, 4])
    """

    _sides = 4
    _mode = "reflect"


class ReplicationPad1d(_Pad):
    """Puts the last axis's first element before it, and its last one behind it, again and again.

    Args:
        padding: how many, an int, or (left, right)

    Shapes: input (..., L), result (..., left + L + right)

    Raises:
        TypeError, ValueError: `padding` is something else.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.ReplicationPad1d((2, 1))(flow.tensor([[[1.0, 2.0]]]))
        tensor([[[1., 1., 1., 2., 2.]]], dtype=oneflow.float32)
    """

    _sides = 2
    _mode = "replicate"


class ReplicationPad2d(_Pad):
    """`ReplicationPad1d` along the last two axes.

    Args:
        padding: how many, an int, or (left, right, top, bottom)

    Shapes: input (..., H, W), result (..., top + H + bottom, left + W + right)

    Raises:
        TypeError, ValueError: `padding` is something else.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.ReplicationPad2d(1)(flow.ones(1, 1, 2, 2)).shape
        oneflow.Size([1, 1, 4, 4])
    """

    _sides = 4
    _mode = "replicate"
