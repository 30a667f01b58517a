"""Connectionist temporal classification, as a function."""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal

_C = _oneflow_internal._C
int64 = _oneflow_internal.int64


def ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Any:
    """Connectionist temporal classification; see `nn.CTCLoss`.

    Args:
        log_probs: Tensor (T, N, C) of log-probabilities
        targets: Tensor (N, S), or (sum of target_lengths,), of class numbers; floats are cast
        input_lengths, target_lengths: Tensor (N,) of integers
        blank: the class number that stands for nothing
        reduction: "mean" (of the losses over the lengths of the targets), "sum" or "none"
        zero_infinity: whether a loss of infinity counts as zero

    Returns:
        a scalar Tensor, or (N,) for "none"

    Example:
        >>> import oneflow as flow
        >>> log_probs = flow.log_softmax(flow.zeros(2, 1, 2), -1)
        >>> two, one = flow.tensor([2]), flow.tensor([1])
        >>> flow.nn.functional.ctc_loss(log_probs, flow.tensor([[1]]), two, one)
        tensor(0.2877, dtype=oneflow.float32)
    """
    targets, input_lengths, target_lengths = (
        given.to(int64) if given.is_floating_point() else given
        for given in (targets, input_lengths, target_lengths)
    )
    longest = targets.shape[1] if targets.ndim == 2 else int(target_lengths.max().item())
    return _C.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, longest, blank, zero_infinity, reduction
    )
