"""What all ranks must agree on."""

from __future__ import annotations

from typing import TypeVar

import oneflow as flow

T = TypeVar("T")


def broadcast(obj: T, src: int = 0) -> T:
    """The object of rank `src`, on every rank. With one rank, the object itself."""
    if flow.env.get_world_size() > 1:
        raise NotImplementedError("[broadcast] expects one rank, got several")
    if src != 0:
        raise ValueError(f"[broadcast] expects src to be a rank, of which there is one, got {src}")
    return obj
