"""Distances and similarities of vectors."""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal
from oneflow.nn.modules.module import Module

_C = _oneflow_internal._C


class CosineSimilarity(Module):
    """x1 . x2 / (|x1| * |x2|) along one axis.

    Args:
        dim: the axis; default 1
        eps: what the lengths are at least; default 1e-8

    Shapes: both inputs (..., D, ...), which broadcast; result without this axis

    Raises:
        IndexError: there is no such axis.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[1.0, 1.0]])
        >>> flow.nn.CosineSimilarity()(x, flow.tensor([[2.0, 0.0]]))
        tensor([0.7071], dtype=oneflow.float32)
    """

    def __init__(self, dim: int = 1, eps: float = 1e-08) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Any, x2: Any) -> Any:
        """Inputs: Tensor (..., D, ...); result without this axis."""
        return _C.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """The norm of x1 - x2 + eps along the last axis.

    Args:
        p: the order of the norm; default 2
        eps: default 1e-6
        keepdim: whether the result keeps the axis, with length 1; default False

    Shapes: both inputs (..., D), which broadcast; result (...)

    Example:
        >>> import oneflow as flow
        >>> flow.nn.PairwiseDistance(eps=0.0)(flow.tensor([[3.0, 4.0]]), flow.zeros(1, 2))
        tensor([5.], dtype=oneflow.float32)
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-06, keepdim: bool = False) -> None:
        super().__init__()
        self.p = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Any, x2: Any) -> Any:
        """Inputs: Tensor (..., D); result: Tensor (...)."""
        return _C.pairwise_distance(x1, x2, p=self.p, eps=self.eps, keepdim=self.keepdim)
