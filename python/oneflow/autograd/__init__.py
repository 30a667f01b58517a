"""Automatic differentiation: gradients on demand, and switches for what is recorded."""

from oneflow.autograd.autograd import backward, grad
from oneflow.autograd.autograd_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
)

__all__ = [
    "backward",
    "enable_grad",
    "grad",
    "inference_mode",
    "is_grad_enabled",
    "no_grad",
    "set_grad_enabled",
]
