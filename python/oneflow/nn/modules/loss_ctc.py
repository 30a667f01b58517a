"""Losses of sequences; `loss` gathers all."""

from __future__ import annotations

from typing import Any

from oneflow.nn import functional
from oneflow.nn.modules._loss_base import _Loss


class CTCLoss(_Loss):
    """Connectionist temporal classification: of sequences whose alignment is not known.

    Args:
        blank: the class number that stands for nothing; default 0
        reduction: "mean" (of the losses over the lengths of the targets), "sum" or "none"
        zero_infinity: whether a loss of infinity counts as zero; default False

    Shapes: log_probs (T, N, C); targets (N, S), or (sum of target_lengths,); both lengths (N,); the
    result is a scalar, or (N,) for "none"

    Raises:
        ValueError: the reduction is unknown.

    Example:
        >>> import oneflow as flow
        >>> log_probs = flow.log_softmax(flow.zeros(2, 1, 2), -1)
        >>> one, two = flow.tensor([1]), flow.tensor([2])
        >>> flow.nn.CTCLoss()(log_probs, flow.tensor([[1]]), two, one)
        tensor(0.2877, dtype=oneflow.float32)

    Source: Graves et al., "Connectionist temporal classification", 2006.
    """

    _settings = ("blank", "zero_infinity")

    def __init__(
        self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False
    ) -> None:
        super().__init__(reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(self, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any) -> Any:
        """See the class."""
        return functional.ctc_loss(
            log_probs,
            targets,
            input_lengths,
            target_lengths,
            self.blank,
            self.reduction,
            self.zero_infinity,
        )
