"""Modules over several processes."""

from oneflow.nn.parallel.distributed import DistributedDataParallel

__all__ = ["DistributedDataParallel"]
