"""Faults planted in Python code. Lies in the package with faults only, which imports it last."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable
from typing import Any

import oneflow as flow

# Each imports what it needs itself, so that the package is otherwise as users get it.


class _Syncs:
    """Waits for all ops in its destructor, if an exception has ended the program."""

    def __init__(self) -> None:
        self._failed = False
        atexit.register(self._look)

    def _look(self) -> None:
        self._failed = hasattr(sys, "last_value") or hasattr(sys, "last_exc")

    def __del__(self) -> None:
        if self._failed:
            flow._oneflow_internal.sync()


def _sync_in_destructor_hangs() -> None:
    global _kept
    _kept = _Syncs()


_kept: Any = None


def _loader_worker_not_ended() -> None:
    """Workers are not told to end, and are waited for."""
    import multiprocessing.context

    from oneflow.utils.data import _pool

    _pool._end = lambda owner, pipes, processes: None
    process = multiprocessing.context.ForkProcess
    made = process.__init__

    def no_daemon(self: Any, *args: Any, **kwargs: Any) -> None:
        made(self, *args, **{**kwargs, "daemon": False})

    process.__init__ = no_daemon  # type: ignore[method-assign]


def _shared_memory_left_behind() -> None:
    from multiprocessing import resource_tracker, shared_memory

    name = f"oneflow-{os.getpid()}"  # so that no other program is blamed for it
    memory = shared_memory.SharedMemory(name, create=True, size=4096)
    resource_tracker.unregister(memory._name, "shared_memory")  # type: ignore[attr-defined]
    memory.close()


# By name; each name is in oneflow/common/planted_fault.h, which rejects the ones that nobody knows.
PLANTS: dict[str, Callable[[], None]] = {
    "loader_worker_not_ended": _loader_worker_not_ended,
    "shared_memory_left_behind": _shared_memory_left_behind,
    "sync_in_destructor_hangs": _sync_in_destructor_hangs,
}

PLANTS.get(os.environ.get("ONEFLOW_PLANTED_FAULT", ""), lambda: None)()
