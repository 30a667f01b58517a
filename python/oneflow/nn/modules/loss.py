"""Losses."""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal
from oneflow.nn import functional
from oneflow.nn.modules._loss_base import _Loss, _WeightedLoss

_C = _oneflow_internal._C


class L1Loss(_Loss):
    """|x - y|.

    Args:
        reduction: "mean", "sum" or "none"; default "mean"

    Shapes: input and target have the same; the result is a scalar, or has theirs for "none"

    Raises:
        ValueError: the reduction is unknown.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.L1Loss()(flow.tensor([1.0, 2.0]), flow.tensor([1.0, 5.0]))
        tensor(1.5000, dtype=oneflow.float32)
    """

    def forward(self, input: Any, target: Any) -> Any:
        """Input and target: Tensor."""
        return _C.l1_loss(input, target, self.reduction)


class MSELoss(_Loss):
    """(x - y) ** 2.

    Args:
        reduction: "mean", "sum" or "none"; default "mean"

    Shapes: input and target have the same; the result is a scalar, or has theirs for "none"

    Raises:
        ValueError: the reduction is unknown.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.MSELoss()(flow.tensor([1.0, 2.0]), flow.tensor([1.0, 4.0]))
        tensor(2., dtype=oneflow.float32)
    """

    def forward(self, input: Any, target: Any) -> Any:
        """Input and target: Tensor."""
        return _C.mse_loss(input, target, self.reduction)


class SmoothL1Loss(_Loss):
    """(x - y) ** 2 / (2 * beta) where |x - y| is below beta, else |x - y| - beta / 2.

    Args:
        reduction: "mean", "sum" or "none"; default "mean"
        beta: default 1

    Shapes: input and target have the same; the result is a scalar, or has theirs for "none"

    Raises:
        ValueError: the reduction is unknown.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.SmoothL1Loss()(flow.tensor([1.0, 2.0]), flow.tensor([2.0, 5.0]))
        tensor(1.5000, dtype=oneflow.float32)

    Source: Girshick, "Fast R-CNN", 2015.
    """

    _settings = ("beta",)

    def __init__(self, reduction: str = "mean", beta: float = 1.0) -> None:
        super().__init__(reduction)
        self.beta = beta

    def forward(self, input: Any, target: Any) -> Any:
        """Input and target: Tensor."""
        return _C.smooth_l1_loss(input, target, self.beta, self.reduction)


class NLLLoss(_WeightedLoss):
    """Negative log-likelihood: loss_n = -weight[y_n] * x[n, y_n].

    Args:
        weight: Tensor (classes,), or None for ones
        ignore_index: a class number that counts nothing; default -100
        reduction: "mean" (by the sum of the weights), "sum" or "none"

    Shapes: input (N, classes, ...), target (N, ...) of int64; the result is a scalar, or (N, ...)
    for "none"

    Raises:
        ValueError: the reduction is unknown, or the shapes do not match.
        IndexError: a class number is not among the classes (at the next read).

    Example:
        >>> import oneflow as flow
        >>> flow.nn.NLLLoss()(flow.tensor([[-1.0, -2.0]]), flow.tensor([0]))
        tensor(1., dtype=oneflow.float32)
    """

    _settings = ("ignore_index",)

    def __init__(
        self, weight: Any = None, ignore_index: int = -100, reduction: str = "mean"
    ) -> None:
        super().__init__(weight, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Any, target: Any) -> Any:
        """Input: Tensor (N, classes, ...); target: Tensor (N, ...) of int64."""
        return functional.nll_loss(input, target, self.weight, self.ignore_index, self.reduction)


class CrossEntropyLoss(_WeightedLoss):
    """`NLLLoss` of the log-softmax of the scores, computed together.

    Args:
        weight: Tensor (classes,), or None for ones
        ignore_index: a class number that counts nothing; default -100
        reduction: "mean" (by the sum of the weights), "sum" or "none"
        label_smoothing: what part of the target is spread over all classes, from 0 to 1; default 0

    Shapes: input (N, classes, ...); target (N, ...) of int64, or the shape of the input with
    probabilities; the result is a scalar, or (N, ...) for "none"

    Raises:
        ValueError: the reduction is unknown, the smoothing not from 0 to 1, or shapes do not match.
        IndexError: a class number is not among the classes (at the next read).

    Example:
        >>> import oneflow as flow
        >>> flow.nn.CrossEntropyLoss()(flow.zeros(1, 2), flow.tensor([0]))
        tensor(0.6931, dtype=oneflow.float32)
    """

    _settings = ("ignore_index",)

    def __init__(
        self,
        weight: Any = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, reduction)
        if not 0.0 <= label_smoothing <= 1.0:
            raise ValueError(
                f"[CrossEntropyLoss] expects label_smoothing from 0 to 1, got {label_smoothing}"
            )
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Any, target: Any) -> Any:
        """Input: Tensor (N, classes, ...); target: Tensor (N, ...) of int64, or as the input."""
        return functional.cross_entropy(
            input, target, self.weight, self.ignore_index, self.reduction, self.label_smoothing
        )


class BCELoss(_WeightedLoss):
    """Binary cross-entropy: -weight * (y * log(x) + (1 - y) * log(1 - x)).

    Args:
        weight: Tensor that broadcasts to the input, or None for ones
        reduction: "mean", "sum" or "none"; default "mean"

    Shapes: input and target have the same; the result is a scalar, or has theirs for "none"

    Raises:
        ValueError: the reduction is unknown.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.BCELoss()(flow.tensor([0.5]), flow.tensor([1.0]))
        tensor(0.6931, dtype=oneflow.float32)
    """

    def forward(self, input: Any, target: Any) -> Any:
        """Input: Tensor of probabilities; target: Tensor of numbers from 0 to 1."""
        return functional.binary_cross_entropy(input, target, self.weight, self.reduction)


class BCEWithLogitsLoss(_WeightedLoss):
    """`BCELoss` of the sigmoid of the scores, computed together, without overflow.

    Args:
        weight: Tensor that broadcasts to the input, or None for ones
        reduction: "mean", "sum" or "none"; default "mean"
        pos_weight: Tensor (classes,), factors of the part y * log(x), or None for ones

    Shapes: input and target have the same; the result is a scalar, or has theirs for "none"

    Raises:
        ValueError: the reduction is unknown.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.BCEWithLogitsLoss()(flow.tensor([0.0]), flow.tensor([1.0]))
        tensor(0.6931, dtype=oneflow.float32)
    """

    def __init__(self, weight: Any = None, reduction: str = "mean", pos_weight: Any = None) -> None:
        super().__init__(weight, reduction)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Any, target: Any) -> Any:
        """Input: Tensor of scores; target: Tensor of numbers from 0 to 1."""
        return functional.binary_cross_entropy_with_logits(
            input, target, self.weight, self.pos_weight, self.reduction
        )


class KLDivLoss(_Loss):
    """Kullback-Leibler divergence: y * (log(y) - x), for x that are logarithms.

    Args:
        reduction: "mean", "sum", "batchmean" (sum over the first axis's length) or "none"
        log_target: whether the target has logarithms, too; default False

    Shapes: input and target have the same; the result is a scalar, or has theirs for "none"

    Raises:
        ValueError: the reduction is unknown.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.KLDivLoss()(flow.tensor([0.0]), flow.tensor([0.5]))
        tensor(-0.3466, dtype=oneflow.float32)
    """

    _settings = ("log_target",)
    _more_reductions = ("batchmean",)

    def __init__(self, reduction: str = "mean", log_target: bool = False) -> None:
        super().__init__(reduction)
        self.log_target = log_target

    def forward(self, input: Any, target: Any) -> Any:
        """Input: Tensor of logarithms; target: Tensor of probabilities, or logarithms."""
        return functional.kl_div(input, target, self.log_target, self.reduction)
