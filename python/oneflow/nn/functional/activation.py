"""Activations that are more than an op."""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal

_C = _oneflow_internal._C


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


def relu6(input: Any, inplace: bool = False) -> Any:
    """min(max(x, 0), 6), element by element.

    Args:
        input: Tensor
        inplace: accepted; as in OneFlow, the input is left as it is

    Returns:
        Tensor of the same shape

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.relu6(flow.tensor([-1.0, 7.0]))
        tensor([0., 6.], dtype=oneflow.float32)
    """
    return _C.hardtanh(input, min_val=0.0, max_val=6.0)


def _default_axis(ndim: int) -> int:
    """The axis of the classes where none is given: as OneFlow and PyTorch have it."""
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input: Any, dim: int | None = None, dtype: Any = None) -> Any:
    """exp(x) / sum of exp(x) along one axis.

    Args:
        input: Tensor
        dim: the axis; default 0 for tensors of 0, 1 or 3 axes, else 1
        dtype: what to convert the input to first; default its own

    Returns:
        Tensor of the same shape

    Raises:
        IndexError: there is no such axis.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.softmax(flow.zeros(1, 2), dim=1)
        tensor([[0.5000, 0.5000]], dtype=oneflow.float32)
    """
    input = input if dtype is None else input.to(dtype)
    return _C.softmax(input, _default_axis(input.ndim) if dim is None else dim)


def log_softmax(input: Any, dim: int | None = None, dtype: Any = None) -> Any:
    """log(exp(x) / sum of exp(x) along one axis), computed without overflow.

    Args:
        input: Tensor
        dim: the axis; default 0 for tensors of 0, 1 or 3 axes, else 1
        dtype: what to convert the input to first; default its own

    Returns:
        Tensor of the same shape

    Raises:
        IndexError: there is no such axis.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.log_softmax(flow.zeros(1, 2), dim=1)
        tensor([[-0.6931, -0.6931]], dtype=oneflow.float32)
    """
    input = input if dtype is None else input.to(dtype)
    return _C.log_softmax(input, _default_axis(input.ndim) if dim is None else dim)
