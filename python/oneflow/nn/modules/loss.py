"""Losses."""

from __future__ import annotations

from typing import Any

from oneflow.nn import functional
from oneflow.nn.modules.module import Module

_REDUCTIONS = ("none", "mean", "sum")


class _ClassLoss(Module):
    """A loss of class scores against class numbers."""

    def __init__(self, weight: Any, ignore_index: int, reduction: str) -> None:
        super().__init__()
        if reduction not in _REDUCTIONS:
            raise ValueError(
                f"[{type(self).__name__}] expects reduction none, mean or sum, got {reduction!r}"
            )
        self.ignore_index = ignore_index
        self.reduction = reduction
        self.register_buffer("weight", weight)

    def extra_repr(self) -> str:
        """The settings."""
        return f"ignore_index={self.ignore_index}, reduction={self.reduction!r}"


class NLLLoss(_ClassLoss):
    """Negative log-likelihood: loss_n = -weight[y_n] * x[n, y_n].

    Args:
        weight: Tensor (classes,), or None for ones
        ignore_index: a class number that counts nothing; default -100
        reduction: "mean" (by the sum of the weights), "sum" or "none"

    Shapes: input (N, classes), target (N,) of int64; the result is a scalar, or (N,) for "none"

    Raises:
        ValueError: the reduction is unknown, or the shapes do not match.
        IndexError: a class number is not among the classes (at the next read).

    Example:
        >>> import oneflow as flow
        >>> loss = flow.nn.NLLLoss()
        >>> loss(flow.tensor([[-1.0, -2.0]]), flow.tensor([1]))
        tensor(2., dtype=oneflow.float32)
    """

    def __init__(
        self, weight: Any = None, ignore_index: int = -100, reduction: str = "mean"
    ) -> None:
        super().__init__(weight, ignore_index, reduction)

    def forward(self, input: Any, target: Any) -> Any:
        """Input: Tensor (N, classes) of log-probabilities; target: Tensor (N,) of int64."""
        return functional.nll_loss(
            input, target, self._buffers["weight"], self.ignore_index, self.reduction
        )


class CrossEntropyLoss(_ClassLoss):
    """`NLLLoss` of `log_softmax` of the scores, computed together.

    Args:
        weight: Tensor (classes,), or None for ones
        ignore_index: a class number that counts nothing; default -100
        reduction: "mean" (by the sum of the weights), "sum" or "none"

    Shapes: input (N, classes), target (N,) of int64; the result is a scalar, or (N,) for "none"

    Raises:
        ValueError: the reduction is unknown, or the shapes do not match.
        IndexError: a class number is not among the classes (at the next read).

    Example:
        >>> import oneflow as flow
        >>> loss = flow.nn.CrossEntropyLoss()
        >>> loss(flow.zeros(1, 2), flow.tensor([1]))
        tensor(0.6931, dtype=oneflow.float32)
    """

    def __init__(
        self, weight: Any = None, ignore_index: int = -100, reduction: str = "mean"
    ) -> None:
        super().__init__(weight, ignore_index, reduction)

    def forward(self, input: Any, target: Any) -> Any:
        """Input: Tensor (N, classes) of scores; target: Tensor (N,) of int64."""
        return functional.cross_entropy(
            input, target, self._buffers["weight"], self.ignore_index, self.reduction
        )
