"""Initial values. Each function fills a tensor in place, unrecorded, and returns it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import oneflow as flow  # noqa: F401 (programs find it here)
from oneflow import _oneflow_internal
from oneflow.autograd.autograd_mode import no_grad
from oneflow.framework import creation
from oneflow.framework import dtype as dtype_util  # noqa: F401

_C = _oneflow_internal._C
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
    return calc_fan(tensor.shape, "fan_in"), calc_fan(tensor.shape, "fan_out")


def get_data_format(data_format: str) -> str:
    """Where the channels stand in a format such as "NCHW": "channels_first" or "channels_last".

    Raises:
        ValueError: the format has no C in the second or the last place.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.init.get_data_format("NHWC")
        'channels_last'
    """
    if data_format.startswith("NC"):
        return "channels_first"
    if data_format.startswith("N") and data_format.endswith("C"):
        return "channels_last"
    raise ValueError(f"[init] expects a data_format such as NCHW or NHWC, got {data_format!r}")


def calc_fan(shape: Any, mode: str = "fan_in", data_format: str = "channels_first") -> Any:
    """How many numbers flow into, or out of, one element of a weight (out, in, ...).

    Args:
        shape: the weight's
        mode: "fan_in", "fan_out", "fan_sum" (both) or "fan_avg" (half of that)
        data_format: "channels_first" for (out, in, ...), "channels_last" for (out, ..., in)

    Raises:
        ValueError: fewer axes than two, or an unknown mode.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.init.calc_fan((8, 3, 2, 2), "fan_in")
        12
    """
    if len(shape) < 2:
        raise ValueError(f"[init] expects a weight of at least two axes, got shape {tuple(shape)}")
    first = data_format == "channels_first"
    inner, window = (shape[1], shape[2:]) if first else (shape[-1], shape[1:-1])
    receptive = math.prod(window)
    fan_in, fan_out = inner * receptive, shape[0] * receptive
    fans = {
        "fan_in": fan_in,
        "fan_out": fan_out,
        "fan_sum": fan_in + fan_out,
        "fan_avg": (fan_in + fan_out) / 2,
    }
    if mode not in fans:
        raise ValueError(f"[init] expects mode {', '.join(fans)}, got {mode!r}")
    return fans[mode]


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


def xavier_uniform_(
    tensor: Any, gain: float = 1.0, *, data_format: str = "NCHW", generator: Any = None
) -> Any:
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
    fan = calc_fan(tensor.shape, "fan_sum", get_data_format(data_format))
    bound = gain * math.sqrt(6.0 / max(fan, 1))
    return uniform_(tensor, -bound, bound, generator=generator)


def xavier_normal_(
    tensor: Any, gain: float = 1.0, *, data_format: str = "NCHW", generator: Any = None
) -> Any:
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
    fan = calc_fan(tensor.shape, "fan_sum", get_data_format(data_format))
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / max(fan, 1)), generator=generator)


def _kaiming_std(
    caller: str, tensor: Any, a: float, mode: str, nonlinearity: str, data_format: str
) -> float:
    _checked(caller, tensor)
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"[{caller}] expects mode fan_in or fan_out, got {mode!r}")
    fan = calc_fan(tensor.shape, mode, get_data_format(data_format))
    return calculate_gain(nonlinearity, a) / math.sqrt(max(fan, 1))


def kaiming_uniform_(
    tensor: Any,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    *,
    data_format: str = "NCHW",
    generator: Any = None,
) -> Any:
    """Uniform in +-gain * sqrt(3 / fan): keeps the spread through layers with rectifiers.

    Args:
        tensor: of at least two axes (out, in, ...)
        a: the slope below zero of the leaky_relu that follows
        mode: fan_in (keeps the forward pass's spread) or fan_out (the backward pass's)
        nonlinearity: see `calculate_gain`
        data_format: "NCHW" for weights (out, in, ...), "NHWC" for (out, ..., in)

    Raises:
        ValueError: fewer axes, or an unknown mode, nonlinearity or format.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.init.kaiming_uniform_(flow.empty(3, 2)).shape
        oneflow.Size([3, 2])

    Source: He et al., "Delving deep into rectifiers", 2015.
    """
    bound = math.sqrt(3.0) * _kaiming_std(
        "kaiming_uniform_", tensor, a, mode, nonlinearity, data_format
    )
    return uniform_(tensor, -bound, bound, generator=generator)


def kaiming_normal_(
    tensor: Any,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    *,
    data_format: str = "NCHW",
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
    std = _kaiming_std("kaiming_normal_", tensor, a, mode, nonlinearity, data_format)
    return normal_(tensor, 0.0, std, generator=generator)


def orthogonal_(tensor: Any, gain: float = 1.0, *, generator: Any = None) -> Any:
    """A matrix whose rows, or columns if there are more rows, are orthogonal and of length `gain`.

    Args:
        tensor: of at least two axes; all but the first count as one
        gain: see `calculate_gain`

    Raises:
        TypeError: no Tensor.
        ValueError: fewer axes.

    Example:
        >>> import oneflow as flow
        >>> x = flow.nn.init.orthogonal_(flow.empty(2, 3))
        >>> bool(abs(flow.matmul(x, x.t()) - flow.eye(2)).numpy().max() < 1e-5)
        True

    Source: Saxe et al., "Exact solutions to the nonlinear dynamics of learning", 2014.
    """
    _checked("orthogonal_", tensor)
    if tensor.ndim < 2:
        raise ValueError(
            f"[orthogonal_] expects at least two axes, got shape {tuple(tensor.shape)}"
        )
    rows, columns = tensor.shape[0], math.prod(tensor.shape[1:])
    drawn = creation.empty(max(rows, columns), min(rows, columns), dtype=_oneflow_internal.float64)
    q, r = np.linalg.qr(normal_(drawn, generator=generator).numpy())
    q = q * np.sign(np.diag(r))  # else the signs would not be drawn evenly
    matrix = q if rows >= columns else q.T
    with no_grad():
        return tensor.copy_(np.ascontiguousarray(matrix * gain).reshape(tuple(tensor.shape)))


def trunc_normal_(
    tensor: Any,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    *,
    generator: Any = None,
) -> Any:
    """Numbers of the normal distribution, drawn again where they are not in [a, b].

    Args:
        tensor: of a floating dtype
        mean, std: of the whole distribution
        a, b: the bounds

    Raises:
        TypeError: no Tensor.
        ValueError: `b` is below `a`, or `std` not above 0.

    Example:
        >>> import oneflow as flow
        >>> x = flow.nn.init.trunc_normal_(flow.empty(99), std=2.0, a=-1.0, b=1.0).numpy()
        >>> bool((abs(x) <= 1).all())
        True
    """
    _checked("trunc_normal_", tensor)
    if not (a <= b and std > 0):
        raise ValueError(
            f"[trunc_normal_] expects a <= b and std above 0, got a {a}, b {b} and std {std}"
        )
    # Uniform between the two values of the distribution function, through its inverse.
    low, high = (math.erf((bound - mean) / (std * math.sqrt(2.0))) for bound in (a, b))
    drawn = creation.empty(*tensor.shape, dtype=_oneflow_internal.float64)
    with no_grad():
        places = _C.erfinv(drawn.uniform_(low, high, generator=generator))
        numbers = places.mul_(std * math.sqrt(2.0)).add_(mean)
        return tensor.copy_(np.clip(numbers.numpy(), a, b))


def dirac_(tensor: Any, groups: int = 1) -> Any:
    """The weight of a convolution that gives its input back, as far as there are channels.

    Args:
        tensor: a weight (out, in, ...) of 3, 4 or 5 axes
        groups: how many groups of output channels do so; default 1

    Raises:
        TypeError: no Tensor.
        ValueError: it has other axes, or the groups do not divide its output channels.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.init.dirac_(flow.empty(1, 1, 3))
        tensor([[[0., 1., 0.]]], dtype=oneflow.float32)
    """
    _checked("dirac_", tensor)
    if tensor.ndim not in (3, 4, 5):
        raise ValueError(f"[dirac_] expects 3 to 5 axes, got shape {tuple(tensor.shape)}")
    if tensor.shape[0] % groups:
        raise ValueError(
            f"[dirac_] expects groups that divide {tensor.shape[0]} channels, got {groups}"
        )
    values = np.zeros(tuple(tensor.shape))
    each = tensor.shape[0] // groups
    centre = tuple(size // 2 for size in tensor.shape[2:])
    for group in range(groups):
        for channel in range(min(each, tensor.shape[1])):
            place: Any = (group * each + channel, channel, *centre)
            values[place] = 1
    with no_grad():
        return tensor.copy_(values)


def sparse_(tensor: Any, sparsity: float, std: float = 0.01, *, generator: Any = None) -> Any:
    """Normal numbers, of which a part of each column is set to zero.

    Args:
        tensor: a matrix
        sparsity: how large that part is, from 0 to 1
        std: the standard deviation of the others; default 0.01

    Raises:
        TypeError: no Tensor.
        ValueError: it has not two axes, or `sparsity` is not from 0 to 1.

    Example:
        >>> import oneflow as flow
        >>> x = flow.nn.init.sparse_(flow.empty(10, 3), 0.25).numpy()
        >>> (x == 0).sum(0).tolist()
        [3, 3, 3]

    Source: Martens, "Deep learning via Hessian-free optimization", 2010.
    """
    _checked("sparse_", tensor)
    if tensor.ndim != 2:
        raise ValueError(f"[sparse_] expects two axes, got shape {tuple(tensor.shape)}")
    if not 0 <= sparsity <= 1:
        raise ValueError(f"[sparse_] expects sparsity from 0 to 1, got {sparsity}")
    zeros = math.ceil(sparsity * tensor.shape[0])
    order = uniform_(creation.empty(*tensor.shape), generator=generator).numpy().argsort(axis=0)
    values = np.array(normal_(tensor.detach().clone(), 0.0, std, generator=generator).numpy())
    np.put_along_axis(values, order[:zeros], 0, axis=0)
    with no_grad():
        return tensor.copy_(values)
