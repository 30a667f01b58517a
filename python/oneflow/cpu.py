"""Host memory that tensors use: how much, at most how much, and what for."""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal
from oneflow.framework import _memory

_DEVICE = "cpu"


def is_available() -> bool:
    """Whether ops can run on the CPU: always.

    Example:
        >>> import oneflow as flow
        >>> flow.cpu.is_available()
        True
    """
    return True


def memory_stats() -> dict[str, Any]:
    """Figures of the pool that tensors' memory comes from.

    Memory is taken when an op is issued, so that the figures do not depend on what has run already.

    Returns:
        dict of bytes: `allocated` (in use by tensors), `reserved` (taken from the system: in use or
        cached), each also with `_peak`; `unsplit` (of `reserved`: no block was made of it yet),
        `limit` and what sets it, `limit_source` (a str); of counts: `allocations`, and how many of
        them were served from the cache, `cache_hits`; and `size_classes`, a list of dicts with
        `block_bytes` (the largest size of the class), `in_use` and `cached` (blocks), and
        `in_use_bytes` and `cached_bytes`. The sum of in_use_bytes is `allocated`; with cached_bytes
        and `unsplit` it is `reserved`

    Example:
        >>> import oneflow as flow
        >>> before = flow.cpu.memory_stats()["allocated"]
        >>> x = flow.ones(1 << 20)
        >>> flow.cpu.memory_stats()["allocated"] - before
        4194304
    """
    return _memory.stats(_DEVICE)


def memory_allocated() -> int:
    """The bytes that living tensors hold, each rounded up to the size of its block.

    Example:
        >>> import oneflow as flow
        >>> before = flow.cpu.memory_allocated()
        >>> x = flow.ones(1 << 20)
        >>> flow.cpu.memory_allocated() - before
        4194304
        >>> del x
        >>> flow.cpu.memory_allocated() == before
        True
    """
    return int(memory_stats()["allocated"])


def max_memory_allocated() -> int:
    """The most bytes that tensors held at once, since the start or `reset_peak_memory_stats`.

    Example:
        >>> import oneflow as flow
        >>> flow.cpu.reset_peak_memory_stats()
        >>> before = flow.cpu.memory_allocated()
        >>> x = flow.ones(1 << 20)
        >>> del x
        >>> flow.cpu.max_memory_allocated() - before
        4194304
    """
    return int(memory_stats()["allocated_peak"])


def memory_reserved() -> int:
    """The bytes that the pool has taken from the system: in use by tensors, or cached.

    Example:
        >>> import oneflow as flow
        >>> flow.cpu.memory_reserved() >= flow.cpu.memory_allocated()
        True
    """
    return int(memory_stats()["reserved"])


def max_memory_reserved() -> int:
    """The most bytes that the pool held, since the start or `reset_peak_memory_stats`.

    Example:
        >>> import oneflow as flow
        >>> flow.cpu.max_memory_reserved() >= flow.cpu.memory_reserved()
        True
    """
    return int(memory_stats()["reserved_peak"])


def reset_peak_memory_stats() -> None:
    """Starts the peaks of allocated and reserved memory anew, from what is held now.

    Example:
        >>> import oneflow as flow
        >>> flow.cpu.reset_peak_memory_stats()
        >>> flow.cpu.max_memory_allocated() == flow.cpu.memory_allocated()
        True
    """
    _oneflow_internal.memory_reset_peak(_DEVICE)


def empty_cache() -> None:
    """Gives memory that the pool keeps for later back to the system.

    What queued ops still use stays until they have run; `synchronize` first to have it all back.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(1 << 20)
        >>> del x
        >>> flow.cpu.synchronize()
        >>> before = flow.cpu.memory_reserved()
        >>> flow.cpu.empty_cache()
        >>> before - flow.cpu.memory_reserved() >= 4194304
        True
    """
    _oneflow_internal.memory_empty_cache(_DEVICE)


def mem_get_info() -> tuple[int, int]:
    """How many bytes tensors can still take, and how many they can hold in all.

    The second is the smallest of `ONEFLOW_CPU_MEMORY_LIMIT` (bytes, or 512MiB, 2G), what the
    control group allows and what the machine has; the first, what is left of it.

    Returns:
        (free, total), in bytes

    Example:
        >>> import oneflow as flow
        >>> free, total = flow.cpu.mem_get_info()
        >>> 0 <= free <= total
        True
    """
    return _memory.free_and_total(memory_stats())


def memory_summary(abbreviated: bool = False) -> str:
    """A table of `memory_stats`, with the largest tensors and the lines that made them.

    Args:
        abbreviated: leave out the size classes

    Raises:
        TypeError: `abbreviated` is not a bool.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(1 << 20)
        >>> print(flow.cpu.memory_summary(abbreviated=True))
        Memory of cpu:0...
        in use ...
    """
    return _memory.summary("cpu.memory_summary", _DEVICE, abbreviated)


def synchronize() -> None:
    """Waits until every op that was issued has run, and raises the error of one that failed.

    Example:
        >>> import oneflow as flow
        >>> flow.cpu.synchronize()
    """
    _oneflow_internal.sync()
