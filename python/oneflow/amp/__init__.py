"""Automatic mixed precision."""

from oneflow.amp.autocast_mode import autocast, autocast_decorator
from oneflow.amp.grad_scaler import GradScaler, StaticGradScaler

__all__ = ["GradScaler", "StaticGradScaler", "autocast", "autocast_decorator"]
