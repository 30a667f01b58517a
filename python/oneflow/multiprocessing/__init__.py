"""Python's `multiprocessing`, with `spawn` as PyTorch has it.

Tensors are sent between processes as copies, by `pickle`.
"""

from __future__ import annotations

import multiprocessing as _multiprocessing
from multiprocessing import *  # noqa: F403
from typing import Any

from oneflow.multiprocessing.spawn import (
    ProcessContext,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

__all__ = [  # noqa: PLE0604
    *_multiprocessing.__all__, "ProcessContext", "ProcessExitedException", "ProcessRaisedException",
    "SpawnContext", "get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy",
    "spawn", "start_processes",
]  # fmt: skip


def get_all_sharing_strategies() -> set[str]:
    """The ways in which tensors travel.

    Example:
        >>> import oneflow as flow
        >>> flow.multiprocessing.get_all_sharing_strategies()
        {'copy'}
    """
    return {"copy"}


def get_sharing_strategy() -> str:
    """The way in which tensors travel.

    Example:
        >>> import oneflow as flow
        >>> flow.multiprocessing.get_sharing_strategy()
        'copy'
    """
    return "copy"


def set_sharing_strategy(new_strategy: str) -> None:
    """Sets the way in which tensors travel.

    Raises:
        ValueError: it is not one of `get_all_sharing_strategies()`.

    Example:
        >>> import oneflow as flow
        >>> flow.multiprocessing.set_sharing_strategy("copy")
    """
    if new_strategy not in get_all_sharing_strategies():
        raise ValueError(f"[set_sharing_strategy] expects 'copy', got {new_strategy!r}")


def __getattr__(name: str) -> Any:
    return getattr(_multiprocessing, name)
