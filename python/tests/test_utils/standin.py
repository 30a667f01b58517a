"""Plays PyTorch: the package itself under that name, in which tests plant differences."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import oneflow as flow


class Standin(types.ModuleType):
    """Everything that is not planted is OneFlow's."""

    def __getattr__(self, name: str) -> Any:
        return getattr(flow, name)


torch = Standin("torch")
torch.__path__ = []  # it has submodules, such as torch.nn
sys.modules["torch"] = torch


@contextmanager
def planted(**functions: Any) -> Iterator[None]:
    """Functions of PyTorch that differ from OneFlow's, for a while."""
    for name, function in functions.items():
        setattr(torch, name, function)
    try:
        yield
    finally:
        for name in functions:
            delattr(torch, name)
