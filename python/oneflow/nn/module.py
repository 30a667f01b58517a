"""The old place of `oneflow.nn.Module`."""

from oneflow.nn.modules.module import Module
from oneflow.nn.parameter import Parameter

__all__ = ["Module", "Parameter"]
