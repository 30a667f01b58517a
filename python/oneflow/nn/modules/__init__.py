"""The modules of `oneflow.nn`, by kind."""

from oneflow.nn.modules.module import Module

__all__ = ["Module"]
