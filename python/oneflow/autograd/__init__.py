"""Automatic differentiation: gradients on demand, and switches for what is recorded."""

from oneflow.autograd import graph
from oneflow.autograd.anomaly_mode import (
    detect_anomaly,
    is_anomaly_enabled,
    set_detect_anomaly,
)
from oneflow.autograd.autograd import backward, grad
from oneflow.autograd.autograd_function import Function
from oneflow.autograd.autograd_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
)

__all__ = [
    "Function",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "grad",
    "graph",
    "inference_mode",
    "is_anomaly_enabled",
    "is_grad_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
]
