"""Activations made of straight pieces, and those along an axis; `activation` gathers all."""

from __future__ import annotations

import warnings
from typing import Any

from oneflow import _oneflow_internal
from oneflow.nn import functional
from oneflow.nn.modules._activation_base import _Activation, _Inplace

_C = _oneflow_internal._C


class Hardsigmoid(_Inplace):
    """min(max(x / 6 + 1 / 2, 0), 1).

    Args:
        inplace: whether to overwrite the input; default False

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Hardsigmoid()(flow.tensor([-4.0, 0.0, 1.5]))
        tensor([0.0000, 0.5000, 0.7500], dtype=oneflow.float32)
    """

    def forward(self, x: Any) -> Any:
        return _C.hardsigmoid(x, self.inplace)


class Hardswish(_Inplace):
    """x * min(max(x + 3, 0), 6) / 6.

    Args:
        inplace: accepted; as in OneFlow, the input is left as it is

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Hardswish()(flow.tensor([-4.0, 0.0, 3.0]))
        tensor([-0., 0., 3.], dtype=oneflow.float32)

    Source: Howard et al., "Searching for MobileNetV3", 2019.
    """

    def forward(self, x: Any) -> Any:
        return _C.hardswish(x)


class Hardtanh(_Activation):
    """min(max(x, min_val), max_val).

    Args:
        min_val: default -1
        max_val: default 1
        inplace: accepted; as in OneFlow, the input is left as it is
        min_value, max_value: the old names of `min_val` and `max_val`

    Raises:
        ValueError: `max_val` is below `min_val`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Hardtanh()(flow.tensor([-4.0, 0.5]))
        tensor([-1.0000,  0.5000], dtype=oneflow.float32)
    """

    _settings = ("min_val", "max_val")

    def __init__(
        self,
        min_val: float = -1,
        max_val: float = 1,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        for name, value in (("min_val", min_value), ("max_val", max_value)):
            if value is not None:
                warnings.warn(f"[Hardtanh] {name}ue is now called {name}", stacklevel=2)
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        self.inplace = inplace
        if self.max_val < self.min_val:
            raise ValueError(
                "[Hardtanh] expects max_val of at least min_val, "
                f"got {self.max_val} and {self.min_val}"
            )

    def forward(self, x: Any) -> Any:
        return _C.hardtanh(x, min_val=self.min_val, max_val=self.max_val)


class _Shrink(_Activation):
    """What Hardshrink and Softshrink share."""

    _settings = ("lambd",)

    def __init__(self, lambd: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        self.lambd = lambd
        self.inplace = inplace


class Hardshrink(_Shrink):
    """x where |x| is above lambd, else 0.

    Args:
        lambd: default 0.5
        inplace: whether to overwrite the input; default False

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Hardshrink()(flow.tensor([-2.0, 0.25]))
        tensor([-2.,  0.], dtype=oneflow.float32)
    """

    def forward(self, x: Any) -> Any:
        return _C.hardshrink(x, lambd=self.lambd, inplace=self.inplace)


class Softshrink(_Shrink):
    """x brought nearer to 0 by lambd, where |x| is above lambd, else 0.

    Args:
        lambd: default 0.5
        inplace: whether to overwrite the input; default False

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Softshrink()(flow.tensor([-2.0, 0.25]))
        tensor([-1.5000,  0.0000], dtype=oneflow.float32)
    """

    def forward(self, x: Any) -> Any:
        return _C.softshrink(x, alpha=self.lambd, inplace=self.inplace)


class Threshold(_Activation):
    """x where x is above the threshold, else a value.

    Args:
        threshold: the bound
        value: what stands for what is not above it

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Threshold(1.0, 9.0)(flow.tensor([0.5, 2.0]))
        tensor([9., 2.], dtype=oneflow.float32)
    """

    _settings = ("threshold", "value")

    def __init__(self, threshold: float, value: float) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value

    def forward(self, input: Any) -> Any:
        return _C.threshold(input, threshold=self.threshold, value=self.value)


class GLU(_Activation):
    """a * sigmoid(b), where a and b are the halves of the input along an axis.

    Args:
        dim: the axis; default the last

    Shapes: input (..., 2 n, ...), result (..., n, ...)

    Raises:
        IndexError: there is no such axis.
        RuntimeError: its length is odd.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.GLU()(flow.tensor([2.0, 0.0]))
        tensor([1.], dtype=oneflow.float32)

    Source: Dauphin et al., "Language modeling with gated convolutional networks", 2017.
    """

    _settings = ("dim",)

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Any) -> Any:
        """Input: Tensor (..., 2 n, ...); result: Tensor (..., n, ...)."""
        return _C.glu(input, self.dim)


class _AlongAxis(_Activation):
    """What Softmax and LogSoftmax share."""

    _settings = ("dim",)

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim


class Softmax(_AlongAxis):
    """exp(x) / sum of exp(x) along one axis.

    Args:
        dim: the axis; default 0 for tensors of 0, 1 or 3 axes, else 1, as OneFlow has it

    Raises:
        IndexError: the input has no such axis.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Softmax(dim=1)(flow.zeros(1, 2))
        tensor([[0.5000, 0.5000]], dtype=oneflow.float32)
    """

    def forward(self, x: Any) -> Any:
        return functional.softmax(x, self.dim)


class LogSoftmax(_AlongAxis):
    """log(exp(x) / sum of exp(x) along one axis), computed without overflow.

    Args:
        dim: the axis; default 0 for tensors of 0, 1 or 3 axes, else 1, as OneFlow has it

    Raises:
        IndexError: the input has no such axis.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.LogSoftmax(dim=1)(flow.zeros(1, 2))
        tensor([[-0.6931, -0.6931]], dtype=oneflow.float32)
    """

    def forward(self, input: Any) -> Any:
        return functional.log_softmax(input, self.dim)
