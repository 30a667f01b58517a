"""Losses with margins; `loss` gathers all."""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal
from oneflow.nn.modules._loss_base import _Loss
from oneflow.nn.modules.module import Module

_C = _oneflow_internal._C


class MarginRankingLoss(_Loss):
    """max(0, -y * (x1 - x2) + margin), for y of 1 or -1.

    Args:
        margin: default 0
        reduction: "mean", "sum" or "none"; default "mean"

    Shapes: all operands have the same; the result is a scalar, or has theirs for "none"

    Raises:
        ValueError: the reduction is unknown.

    Example:
        >>> import oneflow as flow
        >>> x, y = flow.tensor([1.0, 5.0]), flow.tensor([2.0, 2.0])
        >>> flow.nn.MarginRankingLoss()(x, y, flow.tensor([1.0, 1.0]))
        tensor(0.5000, dtype=oneflow.float32)
    """

    _settings = ("margin",)

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = margin

    def forward(self, input1: Any, input2: Any, target: Any) -> Any:
        """Inputs: Tensor; target: Tensor of 1 and -1."""
        return _C.margin_ranking_loss(input1, input2, target, self.margin, self.reduction)


class TripletMarginLoss(_Loss):
    """max(0, |a - p| - |a - n| + margin): anchor, positive and negative examples.

    Args:
        margin: default 1
        p: the order of the norm; default 2
        eps: added to the differences; default 1e-6
        swap: whether |p - n| stands for |a - n| where it is less; default False
        size_average, reduce: accepted for old programs, without effect
        reduction: "mean", "sum" or "none"; default "mean"

    Shapes: all operands (N, D); the result is a scalar, or (N,) for "none"

    Raises:
        ValueError: the reduction is unknown.

    Example:
        >>> import oneflow as flow
        >>> a, p, n = (flow.tensor([[x, 0.0]]) for x in (0.0, 1.0, 3.0))
        >>> flow.nn.TripletMarginLoss(margin=4.0)(a, p, n)
        tensor(2., dtype=oneflow.float32)

    Source: Balntas et al., "Learning local feature descriptors with triplets", 2016.
    """

    _settings = ("margin", "p", "eps", "swap")

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-06,
        swap: bool = False,
        size_average: Any = None,
        reduce: Any = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction)
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Any, positive: Any, negative: Any) -> Any:
        """Operands: Tensor (N, D)."""
        return _C.triplet_margin_loss(
            anchor,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            eps=self.eps,
            swap=self.swap,
            reduction=self.reduction,
        )


class CombinedMarginLoss(Module):
    """cos(m1 * theta + m2) - m3 in the place of cos(theta), for the class of each label.

    Args:
        m1: factor of the angle; default 1
        m2: added to the angle; default 0
        m3: taken off its cosine; default 0

    Shapes: input (N, classes) of cosines, label (N,) of integers; the result as the input

    Example:
        >>> import oneflow as flow
        >>> loss = flow.nn.CombinedMarginLoss(1.0, 0.0, 0.25)
        >>> loss(flow.tensor([[0.5, 0.5]]), flow.tensor([1]))
        tensor([[0.5000, 0.2500]], dtype=oneflow.float32)

    Source: Deng et al., "ArcFace", 2019.
    """

    def __init__(self, m1: float = 1.0, m2: float = 0.0, m3: float = 0.0) -> None:
        super().__init__()
        self.m1 = m1
        self.m2 = m2
        self.m3 = m3

    def forward(self, x: Any, label: Any) -> Any:
        """Input: Tensor (N, classes); label: Tensor (N,)."""
        return _C.combined_margin_loss(x, label, m1=self.m1, m2=self.m2, m3=self.m3)

    def extra_repr(self) -> str:
        """The settings."""
        return f"m1={self.m1}, m2={self.m2}, m3={self.m3}"
