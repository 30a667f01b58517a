"""Activations that are smooth, or nearly so; `activation` gathers all."""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal
from oneflow.framework import creation
from oneflow.nn import functional
from oneflow.nn.modules._activation_base import _Activation, _Inplace
from oneflow.nn.modules.utils import check_count
from oneflow.nn.parameter import Parameter

_C = _oneflow_internal._C


class ReLU(_Inplace):
    """max(x, 0), element by element; NaN stays NaN.

    Args:
        inplace: whether to overwrite the input; default False

    Example:
        >>> import oneflow as flow
        >>> flow.nn.ReLU()(flow.tensor([-1.0, 2.0]))
        tensor([0., 2.], dtype=oneflow.float32)
    """

    def forward(self, input: Any) -> Any:
        return functional.relu(input, self.inplace) if self.inplace else _C.relu(input)


class ReLU6(_Inplace):
    """min(max(x, 0), 6), element by element.

    Args:
        inplace: accepted; as in OneFlow, the input is left as it is

    Example:
        >>> import oneflow as flow
        >>> flow.nn.ReLU6()(flow.tensor([-1.0, 2.0, 7.0]))
        tensor([0., 2., 6.], dtype=oneflow.float32)
    """

    def forward(self, input: Any) -> Any:
        return _C.hardtanh(input, min_val=0.0, max_val=6.0)


class PReLU(_Activation):
    """x for x >= 0, weight * x below; the weight is trained.

    Args:
        num_parameters: how many weights: 1, or one for each channel (axis 1); default 1
        init: their first value; default 0.25
        device, dtype: of the weight

    Parameters:
        weight: (num_parameters,)

    Raises:
        ValueError: `num_parameters` is below 1.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.PReLU()(flow.tensor([-1.0, 2.0])).detach()
        tensor([-0.2500,  2.0000], dtype=oneflow.float32)

    Source: He et al., "Delving deep into rectifiers", 2015.
    """

    _settings = ("num_parameters",)

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        check_count("PReLU", "num_parameters", num_parameters)
        self.num_parameters = num_parameters
        weight = creation.full((num_parameters,), float(init), device=device, dtype=dtype)
        self.weight = Parameter(weight)

    def forward(self, x: Any) -> Any:
        return _C.prelu(x, self.weight)


class LeakyReLU(_Activation):
    """x for x >= 0, negative_slope * x below.

    Args:
        negative_slope: default 0.01
        inplace: whether to overwrite the input; default False

    Example:
        >>> import oneflow as flow
        >>> flow.nn.LeakyReLU(0.5)(flow.tensor([-1.0, 2.0]))
        tensor([-0.5000,  2.0000], dtype=oneflow.float32)
    """

    _settings = ("negative_slope",)

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, x: Any) -> Any:
        return _C.leaky_relu(x, alpha=self.negative_slope, inplace=self.inplace)


class _Alpha(_Activation):
    """An activation with the settings alpha and inplace."""

    _settings = ("alpha",)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace


class ELU(_Alpha):
    """x for x > 0, alpha * (exp(x) - 1) below.

    Args:
        alpha: default 1
        inplace: accepted; as in OneFlow, the input is left as it is

    Example:
        >>> import oneflow as flow
        >>> flow.nn.ELU()(flow.tensor([-1.0, 2.0]))
        tensor([-0.6321,  2.0000], dtype=oneflow.float32)

    Source: Clevert et al., "Exponential linear units", 2016.
    """

    def forward(self, x: Any) -> Any:
        return _C.elu(x, alpha=self.alpha)


class CELU(_Alpha):
    """x for x > 0, alpha * (exp(x / alpha) - 1) below.

    Args:
        alpha: default 1
        inplace: whether to overwrite the input; default False

    Example:
        >>> import oneflow as flow
        >>> flow.nn.CELU(2.0)(flow.tensor([-2.0, 2.0]))
        tensor([-1.2642,  2.0000], dtype=oneflow.float32)

    Source: Barron, "Continuously differentiable exponential linear units", 2017.
    """

    def forward(self, x: Any) -> Any:
        return _C.celu(x, alpha=self.alpha, inplace=self.inplace)


class SELU(_Inplace):
    """scale * ELU(x, alpha), with the scale and alpha that keep mean and spread through layers.

    Args:
        inplace: accepted; as in OneFlow, the input is left as it is

    Example:
        >>> import oneflow as flow
        >>> flow.nn.SELU()(flow.tensor([-1.0, 1.0]))
        tensor([-1.1113,  1.0507], dtype=oneflow.float32)

    Source: Klambauer et al., "Self-normalizing neural networks", 2017.
    """

    def forward(self, x: Any) -> Any:
        return _C.selu(x)


class GELU(_Activation):
    """x * P(X <= x) for a normal X.

    Args:
        approximate: "none", or "tanh" for x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x ** 3)))

    Raises:
        NotImplementedError: `approximate` is neither.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.GELU()(flow.tensor([-1.0, 1.0]))
        tensor([-0.1587,  0.8413], dtype=oneflow.float32)

    Source: Hendrycks and Gimpel, "Gaussian error linear units", 2016.
    """

    _settings = ("approximate",)

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        if approximate not in ("none", "tanh"):
            raise NotImplementedError(
                f"[GELU] expects approximate none or tanh, got {approximate!r}"
            )
        self.approximate = approximate

    def forward(self, input: Any) -> Any:
        return _C.gelu_with_approximate(input, self.approximate)


class QuickGELU(_Activation):
    """x * sigmoid(1.702 * x).

    Example:
        >>> import oneflow as flow
        >>> flow.nn.QuickGELU()(flow.tensor([-1.0, 1.0]))
        tensor([-0.1542,  0.8458], dtype=oneflow.float32)
    """

    def forward(self, x: Any) -> Any:
        return _C.quick_gelu(x)


class SiLU(_Inplace):
    """x * sigmoid(x).

    Args:
        inplace: accepted; as in OneFlow, the input is left as it is

    Example:
        >>> import oneflow as flow
        >>> flow.nn.SiLU()(flow.tensor([-1.0, 1.0]))
        tensor([-0.2689,  0.7311], dtype=oneflow.float32)
    """

    def forward(self, x: Any) -> Any:
        return _C.silu(x)


class Mish(_Inplace):
    """x * tanh(log(1 + exp(x))).

    Args:
        inplace: accepted; as in OneFlow, the input is left as it is

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Mish()(flow.tensor([-1.0, 1.0]))
        tensor([-0.3034,  0.8651], dtype=oneflow.float32)

    Source: Misra, "Mish", 2019.
    """

    def forward(self, x: Any) -> Any:
        return _C.mish(x)


class SquareReLU(_Activation):
    """max(x, 0) ** 2.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.SquareReLU()(flow.tensor([0.5, 3.0]))
        tensor([0.2500, 9.0000], dtype=oneflow.float32)
    """

    def forward(self, x: Any) -> Any:
        return _C.square_relu(x)


class Tanh(_Activation):
    """tanh(x).

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Tanh()(flow.tensor([-1.0, 1.0]))
        tensor([-0.7616,  0.7616], dtype=oneflow.float32)
    """

    def forward(self, input: Any) -> Any:
        return _C.tanh(input)


class Sigmoid(_Activation):
    """1 / (1 + exp(-x)).

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Sigmoid()(flow.tensor([0.0, 1.0]))
        tensor([0.5000, 0.7311], dtype=oneflow.float32)
    """

    def forward(self, x: Any) -> Any:
        return _C.sigmoid(x)


class LogSigmoid(_Activation):
    """log(1 / (1 + exp(-x))), computed without overflow.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.LogSigmoid()(flow.tensor([0.0, 1.0]))
        tensor([-0.6931, -0.3133], dtype=oneflow.float32)
    """

    def forward(self, x: Any) -> Any:
        return _C.logsigmoid(x)


class Softsign(_Inplace):
    """x / (1 + |x|).

    Args:
        inplace: accepted; as in OneFlow, the input is left as it is

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Softsign()(flow.tensor([-1.0, 3.0]))
        tensor([-0.5000,  0.7500], dtype=oneflow.float32)
    """

    def forward(self, x: Any) -> Any:
        return _C.softsign(x)


class Softplus(_Activation):
    """log(1 + exp(beta * x)) / beta; x where beta * x is above the threshold.

    Args:
        beta: default 1
        threshold: default 20

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Softplus()(flow.tensor([0.0, 50.0]))
        tensor([ 0.6931, 50.0000], dtype=oneflow.float32)
    """

    _settings = ("beta", "threshold")

    def __init__(self, beta: float = 1, threshold: float = 20) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, x: Any) -> Any:
        return _C.softplus(x, beta=self.beta, threshold=self.threshold)
