"""DLPack: memory that is shared with other libraries, without a copy.

Source: https://dmlc.github.io/dlpack/latest/
"""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal

__all__ = ["from_dlpack", "to_dlpack"]


def from_dlpack(ext_tensor: Any) -> Any:
    """A tensor over the memory of another library's array.

    Args:
        ext_tensor: an object with `__dlpack__` (a torch tensor, a numpy array), or a DLPack capsule
            that nobody has used before; on the CPU, of any shape with at most 16 dims

    Returns:
        tensor of the same shape, strides and dtype; a change of one is a change of the other

    Raises:
        TypeError: `ext_tensor` is neither, or its dtype is none of oneflow's.
        RuntimeError: the memory is not the CPU's, is not aligned, or has negative strides.

    Example:
        >>> import numpy as np
        >>> import oneflow as flow
        >>> array = np.zeros(2)
        >>> x = flow.utils.dlpack.from_dlpack(array)
        >>> _ = x.add_(1)
        >>> array.tolist()
        [1.0, 1.0]
    """
    return _oneflow_internal.from_dlpack(ext_tensor)


def to_dlpack(tensor: Any) -> Any:
    """A DLPack capsule over a tensor's memory, for `from_dlpack` of another library.

    Args:
        tensor: tensor on the CPU; what has a history is exported without

    Returns:
        capsule that keeps the memory alive; it can be used once

    Raises:
        TypeError: `tensor` is no Tensor.
        BufferError: its memory is read-only.

    Example:
        >>> import oneflow as flow
        >>> capsule = flow.utils.dlpack.to_dlpack(flow.ones(2))
        >>> flow.utils.dlpack.from_dlpack(capsule).numpy().tolist()
        [1.0, 1.0]
    """
    return _oneflow_internal.to_dlpack(tensor)
