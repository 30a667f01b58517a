"""The names of autograd functions, where programs written for PyTorch look for them."""

from oneflow.autograd.autograd_function import Function, FunctionCtx, once_differentiable

__all__ = ["Function", "FunctionCtx", "once_differentiable"]
