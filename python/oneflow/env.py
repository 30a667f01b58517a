"""What this process knows of the others that it works with, by the variables of the environment."""

from __future__ import annotations

import os

from oneflow.framework import global_tensor
from oneflow.framework.global_tensor import placement


def get_world_size() -> int:
    """How many processes work together (WORLD_SIZE); 1 without a launcher.

    Example:
        >>> import oneflow as flow
        >>> flow.env.get_world_size() >= 1
        True
    """
    return global_tensor.world_size()


def get_rank() -> int:
    """The number of this process among them (RANK); 0 without a launcher.

    Example:
        >>> import oneflow as flow
        >>> 0 <= flow.env.get_rank() < flow.env.get_world_size()
        True
    """
    return global_tensor.rank()


def get_local_rank() -> int:
    """The number of this process on its machine (LOCAL_RANK); 0 without a launcher.

    Example:
        >>> import oneflow as flow
        >>> flow.env.get_local_rank() <= flow.env.get_rank()
        True
    """
    return int(os.environ.get("LOCAL_RANK", "0"))


def get_node_size() -> int:
    """How many machines work together (NODE_SIZE); 1 without a launcher.

    Example:
        >>> import oneflow as flow
        >>> flow.env.get_node_size() >= 1
        True
    """
    return int(os.environ.get("NODE_SIZE", "1"))


def all_device_placement(device_type: str) -> placement:
    """The placement of all ranks; the same as `placement.all`.

    Example:
        >>> import oneflow as flow
        >>> flow.env.all_device_placement("cpu") == flow.placement.all("cpu")
        True
    """
    return placement.all(device_type)


def rdma_is_initialized() -> bool:
    """Whether ranks talk by RDMA: they never do.

    Example:
        >>> import oneflow as flow
        >>> flow.env.rdma_is_initialized()
        False
    """
    return False


def init_rdma() -> None:
    """Would let ranks talk by RDMA.

    Raises:
        NotImplementedError: always; there is no RDMA in this build.

    Example:
        >>> import oneflow as flow
        >>> flow.env.init_rdma()
        Traceback (most recent call last):
        NotImplementedError: [init_rdma] ...
    """
    raise NotImplementedError("[init_rdma] expects a build with RDMA, which there is not")
