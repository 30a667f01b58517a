"""Normalisation, as functions."""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal

_C = _oneflow_internal._C


def batch_norm(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """(x - mean) / sqrt(variance + eps) * weight + bias for each channel; see `nn.BatchNorm1d`.

    Args:
        input: Tensor (N, C, ...)
        running_mean, running_var: Tensor (C,), or None in training; moved in training
        weight, bias: Tensor (C,) or None
        training: whether to use the batch's mean and variance; default False
        momentum: weight of the batch in the running ones; default 0.1
        eps: default 1e-5

    Returns:
        Tensor (N, C, ...)

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[1.0], [3.0]])
        >>> flow.nn.functional.batch_norm(x, None, None, training=True, eps=0.0)
        tensor([[-1.],
                [ 1.]], dtype=oneflow.float32)
    """
    return _C.normalization(
        input, running_mean, running_var, weight, bias, 1, eps, momentum, training
    )


def layer_norm(
    input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    """(x - mean) / sqrt(variance + eps) * weight + bias over the last axes; see `nn.LayerNorm`.

    Args:
        input: Tensor (..., *normalized_shape)
        normalized_shape: the lengths of these axes
        weight, bias: Tensor of this shape, or None
        eps: default 1e-5

    Returns:
        Tensor of the same shape

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.layer_norm(flow.tensor([[1.0, 3.0]]), (2,), eps=0.0)
        tensor([[-1.,  1.]], dtype=oneflow.float32)
    """
    return _C.layer_norm(input, normalized_shape, weight, bias, eps)


def group_norm(
    input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    """(x - mean) / sqrt(variance + eps) * weight + bias by groups of channels; see `nn.GroupNorm`.

    Args:
        input: Tensor (N, C, ...)
        num_groups: into how many groups the channels are split
        weight, bias: Tensor (C,) or None
        eps: default 1e-5

    Returns:
        Tensor of the same shape

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.group_norm(flow.tensor([[[1.0], [3.0]]]), 1, eps=0.0)
        tensor([[[-1.],
                 [ 1.]]], dtype=oneflow.float32)
    """
    return _C.group_norm(input, num_groups, weight, bias, eps)
