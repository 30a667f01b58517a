"""Optimizers, one for each file, and schedules; `oneflow.optim` gathers them."""

from __future__ import annotations

import importlib
from typing import Any

# Schedules' files as programs know them.
_PLACES = {
    "chained_scheduler": "composed_schedules",
    "constant_lr": "schedules",
    "cosine_annealing_lr": "schedules",
    "cosine_annealing_warm_restarts": "schedules",
    "cosine_decay_lr": "schedules",
    "exponential_lr": "schedules",
    "lambda_lr": "composed_schedules",
    "linear_lr": "schedules",
    "multistep_lr": "schedules",
    "polynomial_lr": "schedules",
    "sequential_lr": "composed_schedules",
    "step_lr": "schedules",
    "warmup_lr": "composed_schedules",
}


def __getattr__(name: str) -> Any:
    """The files by their other names."""
    if name not in _PLACES:
        raise AttributeError(f"module 'oneflow.nn.optimizer' has no attribute {name!r}")
    importlib.import_module("oneflow.optim")  # first: the files import one another through it
    return importlib.import_module(f"oneflow.nn.optimizer.{_PLACES[name]}")
