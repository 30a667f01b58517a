"""Tensors of PyTorch as tensors of OneFlow and back, over the same memory."""

from __future__ import annotations

import importlib
from typing import Any

from oneflow import _oneflow_internal
from oneflow.utils.dlpack import from_dlpack

__all__ = ["from_torch", "to_torch"]


def from_torch(torch_tensor: Any) -> Any:
    """A tensor over the memory of PyTorch's.

    Args:
        torch_tensor: on the CPU, of any shape; without history

    Returns:
        tensor of the same shape, strides and dtype; a change of one is a change of the other

    Raises:
        TypeError: it is no tensor, or its dtype is none of oneflow's.

    Example:
        >>> import numpy as np
        >>> import oneflow as flow
        >>> flow.utils.tensor.from_torch(np.ones(2)).tolist()  # any array of DLPack's will do
        [1.0, 1.0]
    """
    return from_dlpack(torch_tensor)


def to_torch(flow_tensor: Any) -> Any:
    """A tensor of PyTorch over the memory of OneFlow's; of a global tensor, a copy.

    Args:
        flow_tensor: of any shape

    Returns:
        torch.Tensor of the same shape and dtype

    Raises:
        TypeError: it is no tensor.
        ModuleNotFoundError: PyTorch is not installed.

    Example:
        >>> import oneflow as flow
        >>> try:
        ...     flow.utils.tensor.to_torch([1.0])
        ... except TypeError as error:
        ...     print(error)
        [to_torch] expects a Tensor, got list
    """
    if not isinstance(flow_tensor, _oneflow_internal.Tensor):
        raise TypeError(f"[to_torch] expects a Tensor, got {type(flow_tensor).__name__}")
    torch = importlib.import_module("torch")
    if flow_tensor.is_global:
        return torch.from_numpy(flow_tensor.numpy().copy())
    return torch.from_dlpack(flow_tensor)
