"""DistributedSampler: each process of data-parallel training reads its own share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from oneflow import _oneflow_internal
from oneflow.framework.random import randperm
from oneflow.utils.data.sampler import Sampler, _flag, _positive_int


def _from_environment(name: str, default: int) -> int:
    """What the launcher says of this process."""
    text = os.environ.get(name, "")
    return int(text) if text else default


class DistributedSampler(Sampler[int]):
    """The indices rank, rank + n, rank + 2n, ... of an order that all n processes agree on.

    All shares have the same length: without `drop_last` the first indices are read again at the
    end, with it the last ones are left out.

    Args:
        dataset: what is read; it has a length
        num_replicas: number of processes; default: WORLD_SIZE of the environment, or 1
        rank: this process; default: RANK of the environment, or 0
        shuffle: whether the order is random, a new one for each epoch
        seed: of the order; the same in all processes
        drop_last: whether indices are left out, and not repeated

    Raises:
        ValueError: the rank is none of the processes.

    Example:
        >>> import oneflow as flow
        >>> flow.utils.data.DistributedSampler
        <class 'oneflow.utils.data.distributed.DistributedSampler'>
        >>> list(flow.utils.data.DistributedSampler("abcde", 2, 1, shuffle=False))
        [1, 3, 0]
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None:
            num_replicas = _from_environment("WORLD_SIZE", 1)
        if rank is None:
            rank = _from_environment("RANK", 0)
        self.num_replicas = _positive_int("DistributedSampler", "num_replicas", num_replicas)
        if type(rank) is not int or not 0 <= rank < num_replicas:
            raise ValueError(
                f"[DistributedSampler] expects rank in [0, {num_replicas}), got {rank!r}"
            )
        self.dataset, self.rank, self.seed, self.epoch = dataset, rank, seed, 0
        self.shuffle = _flag("DistributedSampler", "shuffle", shuffle)
        self.drop_last = _flag("DistributedSampler", "drop_last", drop_last)
        count = len(dataset)
        self.num_samples = count // num_replicas if drop_last else -(-count // num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        count = len(self.dataset)
        order = list(range(count))
        if self.shuffle:
            generator = _oneflow_internal.Generator("cpu")
            generator.manual_seed(self.seed + self.epoch)
            order = randperm(count, generator=generator).tolist()
        while 0 < len(order) < self.total_size:
            order += order[: self.total_size - len(order)]
        return iter(order[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Chooses the order of an epoch; without it, every epoch has the same."""
        self.epoch = epoch
