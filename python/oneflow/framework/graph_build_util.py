"""Whether a graph is being built now, under OneFlow's names."""

from __future__ import annotations

from oneflow import _oneflow_internal
from oneflow.nn.graph.graph_block import GraphBlockType

__all__ = ["GraphBlockType", "lazy_mode"]


class lazy_mode:  # noqa: N801: OneFlow's name
    """Lazy mode: ops are recorded, since `nn.Graph.build` is being traced.

    Example:
        >>> from oneflow.framework.graph_build_util import lazy_mode
        >>> lazy_mode.is_enabled()
        False
    """

    @staticmethod
    def is_enabled() -> bool:
        """Whether this thread runs inside `build`."""
        return _oneflow_internal.graph.tracing() is not None
