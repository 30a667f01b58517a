"""The modules of `oneflow.nn`, by kind."""

from __future__ import annotations

import importlib
from typing import Any

from oneflow.nn.modules.module import Module

__all__ = ["Module"]

# Files that programs know by other names.
_PLACES = {
    "affine_grid": "oneflow.nn.functional.vision",
    "fake_quantization": "oneflow.nn.modules.quantization",
    "grid_sample": "oneflow.nn.functional.vision",
    "interpolate": "oneflow.nn.functional.vision",
    "min_max_observer": "oneflow.nn.modules.quantization",
    "moving_average_min_max_observer": "oneflow.nn.modules.quantization",
    "sparse_softmax_cross_entropy": "oneflow.nn.functional.loss",
}


def __getattr__(name: str) -> Any:
    """The files by their other names."""
    if name not in _PLACES:
        raise AttributeError(f"module 'oneflow.nn.modules' has no attribute {name!r}")
    return importlib.import_module(_PLACES[name])
