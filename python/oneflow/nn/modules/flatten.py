"""Flatten."""

from __future__ import annotations

from typing import Any

from oneflow.nn import functional
from oneflow.nn.modules.module import Module


class Flatten(Module):
    """Joins neighbouring axes into one.

    Args:
        start_dim: the first axis to join; default 1, so that a batch stays one
        end_dim: the last one; default the last axis

    Shapes: input (..., a, b, c, ...), result (..., a * b * c, ...)

    Raises:
        IndexError: the input has no such axis.
        RuntimeError: `start_dim` comes after `end_dim`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Flatten()(flow.zeros(2, 3, 4)).shape
        oneflow.Size([2, 12])
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Any) -> Any:
        """Input and result: Tensor."""
        return functional.flatten(input, self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """The settings."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"
