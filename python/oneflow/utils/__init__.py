"""Tools around training: data, hooks."""

from typing import Any as _Any


def __getattr__(name: str) -> _Any:
    if name in ("data", "hooks"):
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'oneflow.utils' has no attribute {name!r}")
