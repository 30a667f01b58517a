"""Initial values. Each function fills a tensor in place, unrecorded, and returns it."""

from __future__ import annotations

import math
from typing import Any

from oneflow import _oneflow_internal
from oneflow.autograd.autograd_mode import no_grad
from oneflow.framework import creation

Tensor = _oneflow_internal.Tensor


def _checked(caller: str, tensor: Any) -> None:
    if not isinstance(tensor, Tensor):
        raise TypeError(f"[{caller}] expects a Tensor, got {type(tensor).__name__}")


def calculate_gain(nonlinearity: str, param: Any = None) -> float:
    """By how much an activation shrinks the spread of its input: the factor that makes up for it.

    Args:
        nonlinearity: linear, conv1d .. conv3d, sigmoid, tanh, relu, leaky_relu or selu
        param: for leaky_relu the slope below zero; default 0.01

    Raises:
        ValueError: the name is unknown, or `param` no number.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.init.calculate_gain("tanh")
        1.6666666666666667

    Source: He et al., "Delving deep into rectifiers", 2015, for the rectifiers.
    """
    linear = {f"conv{n}d" for n in (1, 2, 3)} | {f"conv_transpose{n}d" for n in (1, 2, 3)}
    fixed = {"tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}
    if nonlinearity in linear | {"linear", "sigmoid"}:
        return 1.0
    if nonlinearity in fixed:
        return fixed[nonlinearity]
    if nonlinearity != "leaky_relu":
        raise ValueError(
            f"[calculate_gain] expects the name of an activation, got {nonlinearity!r}"
        )
    slope = 0.01 if param is None else param
    if isinstance(slope, bool) or not isinstance(slope, (int, float)):
        raise ValueError(f"[calculate_gain] expects a number as slope, got {slope!r}")
    return math.sqrt(2.0 / (1 + slope**2))


def _calculate_fan_in_and_fan_out(tensor: Any) -> tuple[int, int]:
    """How many numbers flow into, and out of, one element: for weights (out, in, ...)."""
    if tensor.ndim < 2:
        raise ValueError(
            f"[init] expects a weight of at least two axes, got shape {tuple(tensor.shape)}"
        )
    receptive = math.prod(tensor.shape[2:])
    return tensor.shape[1] * receptive, tensor.shape[0] * receptive


def uniform_(tensor: Any, a: float = 0.0, b: float = 1.0, *, generator: Any = None) -> Any:
    """Numbers uniform in [a, b).

    Raises:
        TypeError: no Tensor.
        ValueError: `b` is below `a`.

    Example:
        >>> import oneflow as flow
        >>> x = flow.nn.init.uniform_(flow.empty(9), 1, 2).numpy()
        >>> bool((x >= 1).all() and (x <= 2).all())
        True
    """
    _checked("uniform_", tensor)
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Any, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Any:
    """Numbers of the normal distribution.

    Raises:
        TypeError: no Tensor.
        ValueError: `std` is negative.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.init.normal_(flow.empty(2, 3), std=0.02).shape
        oneflow.Size([2, 3])
    """
    _checked("normal_", tensor)
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def constant_(tensor: Any, val: float) -> Any:
    """One value everywhere.

    Raises:
        TypeError: no Tensor.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.init.constant_(flow.empty(2), 0.5)
        tensor([0.5000, 0.5000], dtype=oneflow.float32)
    """
    _checked("constant_", tensor)
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor: Any) -> Any:
    """Ones.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.init.ones_(flow.empty(2))
        tensor([1., 1.], dtype=oneflow.float32)
    """
    return constant_(tensor, 1.0)


def zeros_(tensor: Any) -> Any:
    """Zeros.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.init.zeros_(flow.empty(2))
        tensor([0., 0.], dtype=oneflow.float32)
    """
    return constant_(tensor, 0.0)


def eye_(tensor: Any) -> Any:
    """The identity matrix.

    Raises:
        ValueError: the tensor has not two axes.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.init.eye_(flow.empty(2, 2))
        tensor([[1., 0.],
                [0., 1.]], dtype=oneflow.float32)
    """
    _checked("eye_", tensor)
    if tensor.ndim != 2:
        raise ValueError(f"[eye_] expects two axes, got shape {tuple(tensor.shape)}")
    with no_grad():
        return tensor.copy_(creation.eye(*tensor.shape, dtype=tensor.dtype))


def xavier_uniform_(tensor: Any, gain: float = 1.0, *, generator: Any = None) -> Any:
    """Uniform in +-gain * sqrt(6 / (fan_in + fan_out)).

    Args:
        tensor: of at least two axes (out, in, ...)
        gain: see `calculate_gain`

    Raises:
        ValueError: fewer axes.

    Example:
        >>> import oneflow as flow
        >>> bool(abs(flow.nn.init.xavier_uniform_(flow.empty(3, 3)).numpy()).max() <= 1)
        True

    Source: Glorot and Bengio, "Understanding the difficulty of training deep networks", 2010.
    """
    _checked("xavier_uniform_", tensor)
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    bound = gain * math.sqrt(6.0 / max(fan_in + fan_out, 1))
    return uniform_(tensor, -bound, bound, generator=generator)


def xavier_normal_(tensor: Any, gain: float = 1.0, *, generator: Any = None) -> Any:
    """Normal with a standard deviation of gain * sqrt(2 / (fan_in + fan_out)).

    Raises:
        ValueError: fewer than two axes.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.init.xavier_normal_(flow.empty(3, 2)).shape
        oneflow.Size([3, 2])

    Source: as `xavier_uniform_`.
    """
    _checked("xavier_normal_", tensor)
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return normal_(
        tensor, 0.0, gain * math.sqrt(2.0 / max(fan_in + fan_out, 1)), generator=generator
    )


def _kaiming_std(caller: str, tensor: Any, a: float, mode: str, nonlinearity: str) -> float:
    _checked(caller, tensor)
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"[{caller}] expects mode fan_in or fan_out, got {mode!r}")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    fan = fan_in if mode == "fan_in" else fan_out
    return calculate_gain(nonlinearity, a) / math.sqrt(max(fan, 1))


def kaiming_uniform_(
    tensor: Any,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    *,
    generator: Any = None,
) -> Any:
    """Uniform in +-gain * sqrt(3 / fan): keeps the spread through layers with rectifiers.

    Args:
        tensor: of at least two axes (out, in, ...)
        a: the slope below zero of the leaky_relu that follows
        mode: fan_in (keeps the forward pass's spread) or fan_out (the backward pass's)
        nonlinearity: see `calculate_gain`

    Raises:
        ValueError: fewer axes, or an unknown mode or nonlinearity.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.init.kaiming_uniform_(flow.empty(3, 2)).shape
        oneflow.Size([3, 2])

    Source: He et al., "Delving deep into rectifiers", 2015.
    """
    bound = math.sqrt(3.0) * _kaiming_std("kaiming_uniform_", tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator=generator)


def kaiming_normal_(
    tensor: Any,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    *,
    generator: Any = None,
) -> Any:
    """Normal with a standard deviation of gain / sqrt(fan); see `kaiming_uniform_`.

    Raises:
        ValueError: fewer than two axes, or an unknown mode or nonlinearity.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.init.kaiming_normal_(flow.empty(3, 2)).shape
        oneflow.Size([3, 2])

    Source: as `kaiming_uniform_`.
    """
    std = _kaiming_std("kaiming_normal_", tensor, a, mode, nonlinearity)
    return normal_(tensor, 0.0, std, generator=generator)
