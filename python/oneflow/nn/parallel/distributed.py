"""DistributedDataParallel: one module in several processes, each with a part of the batch."""

from __future__ import annotations

import os
from typing import Any

from oneflow.nn.modules.module import Module


def DistributedDataParallel(
    module: Any,
    *,
    broadcast_buffers: bool = True,
    broadcast_parameters: bool = True,
    bucket_size: int = 10,
    use_bucket: bool = True,
) -> Any:
    """Makes the module train alike in every process; with one process there is nothing to do.

    Args:
        module: whose parameters and gradients the processes share
        broadcast_buffers, broadcast_parameters: whether all begin with those of the first process
        bucket_size: of how many megabytes of gradients are reduced together
        use_bucket: whether they are reduced together

    Returns:
        the module

    Raises:
        TypeError: no Module.
        NotImplementedError: there are several processes.

    Example:
        >>> import oneflow as flow
        >>> layer = flow.nn.Linear(2, 2)
        >>> flow.nn.parallel.DistributedDataParallel(layer) is layer
        True
    """
    if not isinstance(module, Module):
        raise TypeError(f"[DistributedDataParallel] expects nn.Module, got {type(module).__name__}")
    processes = os.environ.get("WORLD_SIZE", "1")
    if processes != "1":
        raise NotImplementedError(
            f"[DistributedDataParallel] expects one process, got WORLD_SIZE={processes}"
        )
    return module
