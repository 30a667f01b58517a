"""Host memory that tensors use."""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal


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

    Returns:
        dict of bytes (`allocated`: held by tensors, `reserved`: taken from the system, each with
        its `_peak`; `limit`) and of counts (`allocations`, `cache_hits`, `size_classes`)

    Example:
        >>> import oneflow as flow
        >>> before = flow.cpu.memory_allocated()
        >>> x = flow.ones(1 << 20)
        >>> flow.cpu.memory_allocated() - before >= 4 << 20
        True
    """
    return dict(_oneflow_internal.cpu_memory_stats())


def memory_allocated() -> int:
    """The bytes that living tensors hold.

    Example: see `memory_stats`.
        >>> import oneflow as flow
        >>> flow.cpu.memory_allocated() >= 0
        True
    """
    return int(memory_stats()["allocated"])


def max_memory_allocated() -> int:
    """The most bytes that tensors held at once, since the start or `reset_peak_memory_stats`.

    Example:
        >>> import oneflow as flow
        >>> flow.cpu.max_memory_allocated() >= flow.cpu.memory_allocated()
        True
    """
    return int(memory_stats()["allocated_peak"])


def reset_peak_memory_stats() -> None:
    """Starts `max_memory_allocated` anew from what is held now.

    Example:
        >>> import oneflow as flow
        >>> flow.cpu.reset_peak_memory_stats()
        >>> flow.cpu.max_memory_allocated() == flow.cpu.memory_allocated()
        True
    """
    _oneflow_internal.cpu_reset_peak()


def empty_cache() -> None:
    """Gives memory that the pool keeps for later back to the system.

    Example:
        >>> import oneflow as flow
        >>> flow.cpu.empty_cache()
    """
    _oneflow_internal.cpu_empty_cache()


def synchronize() -> None:
    """Waits until every op that was issued has run, and raises the error of one that failed.

    Example:
        >>> import oneflow as flow
        >>> flow.cpu.synchronize()
    """
    _oneflow_internal.sync()
