"""What the modules compute, as functions."""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal
from oneflow.nn.functional import _ops
from oneflow.nn.functional.normalization import batch_norm, group_norm, layer_norm
from oneflow.nn.functional.pooling import (
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
)

_C = _oneflow_internal._C


def __getattr__(name: str) -> Any:
    """The functions that are ops of the table."""
    value = _ops.op(name)
    if value is None:
        raise AttributeError(f"module 'oneflow.nn.functional' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_ops.OPS})


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """x W^T + b.

    Args:
        input: Tensor (..., in)
        weight: Tensor (out, in)
        bias: Tensor (out,) or None

    Returns:
        Tensor (..., out)

    Raises:
        ValueError, RuntimeError: the shapes do not match.
        TypeError: the dtypes differ.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.linear(flow.ones(1, 2), flow.ones(3, 2))
        tensor([[2., 2., 2.]], dtype=oneflow.float32)
    """
    return _C.linear(input, weight, bias)


def relu(input: Any, inplace: bool = False) -> Any:
    """max(x, 0), element by element; NaN stays NaN.

    Args:
        input: Tensor
        inplace: whether to overwrite it; default False

    Returns:
        Tensor of the same shape

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.relu(flow.tensor([-1.0, 2.0]))
        tensor([0., 2.], dtype=oneflow.float32)
    """
    return _C.relu_(input) if inplace else _C.relu(input)


def _default_axis(ndim: int) -> int:
    """The axis of the classes where none is given: as OneFlow and PyTorch have it."""
    return 0 if ndim in (0, 1, 3) else 1


def log_softmax(input: Any, dim: int | None = None) -> Any:
    """log(exp(x) / sum of exp(x) along one axis), computed without overflow.

    Args:
        input: Tensor
        dim: the axis; default 0 for tensors of 0, 1 or 3 axes, else 1

    Returns:
        Tensor of the same shape

    Raises:
        IndexError: there is no such axis.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.log_softmax(flow.zeros(1, 2), dim=1)
        tensor([[-0.6931, -0.6931]], dtype=oneflow.float32)
    """
    return _C.log_softmax(input, _default_axis(input.ndim) if dim is None else dim)


def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """Joins neighbouring axes into one.

    Args:
        input: Tensor
        start_dim: the first axis to join
        end_dim: the last one

    Returns:
        Tensor (..., product of the joined axes, ...); it shares memory where that is possible

    Raises:
        IndexError: there is no such axis.
        RuntimeError: `start_dim` comes after `end_dim`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.flatten(flow.zeros(2, 3, 4), 1).shape
        oneflow.Size([2, 12])
    """
    return _C.flatten(input, start_dim, end_dim)


def nll_loss(
    input: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Any:
    """Negative log-likelihood: loss_n = -weight[y_n] * x[n, y_n].

    Args:
        input: Tensor (N, classes) of log-probabilities
        target: Tensor (N,) of int64, the class numbers
        weight: Tensor (classes,), or None for ones
        ignore_index: a class number that counts nothing
        reduction: "mean" (by the sum of the weights), "sum" or "none"

    Returns:
        a scalar Tensor, or (N,) for "none"

    Raises:
        ValueError: the reduction is unknown, or the shapes do not match.
        IndexError: a class number is not among the classes (at the next read).

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.nll_loss(flow.tensor([[-1.0, -2.0]]), flow.tensor([0]))
        tensor(1., dtype=oneflow.float32)
    """
    return _C.nll_loss(input, target, weight, ignore_index, reduction)


def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Any:
    """`nll_loss` of `log_softmax` of the scores, computed together.

    Args and errors: as `nll_loss`, but `input` holds any scores.

    Returns:
        a scalar Tensor, or (N,) for "none"

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.cross_entropy(flow.zeros(1, 2), flow.tensor([0]))
        tensor(0.6931, dtype=oneflow.float32)
    """
    return _C.cross_entropy(input, target, weight, ignore_index, reduction)
