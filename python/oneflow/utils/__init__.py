"""Tools around training: data, hooks, checkpointing, DLPack, global tensors."""

from typing import Any as _Any


def __getattr__(name: str) -> _Any:
    if name in ("checkpoint", "data", "dlpack", "global_view", "hooks", "tensor"):
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'oneflow.utils' has no attribute {name!r}")
