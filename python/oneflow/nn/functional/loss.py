"""Losses, as functions."""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal

_C = _oneflow_internal._C


def nll_loss(
    input: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Any:
    """Negative log-likelihood: loss_n = -weight[y_n] * x[n, y_n].

    Args:
        input: Tensor (N, classes) of log-probabilities
        target: Tensor (N,) of int64, the class numbers
        weight: Tensor (classes,), or None for ones
        ignore_index: a class number that counts nothing
        reduction: "mean" (by the sum of the weights), "sum" or "none"

    Returns:
        a scalar Tensor, or (N,) for "none"

    Raises:
        ValueError: the reduction is unknown, or the shapes do not match.
        IndexError: a class number is not among the classes (at the next read).

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.nll_loss(flow.tensor([[-1.0, -2.0]]), flow.tensor([0]))
        tensor(1., dtype=oneflow.float32)
    """
    return _C.nll_loss(input, target, weight, ignore_index, reduction)


def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """`nll_loss` of `log_softmax` of the scores, computed together.

    Args and errors: as `nll_loss`, but `input` holds any scores, `target` may have probabilities,
    and `label_smoothing` is what part of the target is spread over all classes.

    Returns:
        a scalar Tensor, or (N,) for "none"

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.cross_entropy(flow.zeros(1, 2), flow.tensor([0]))
        tensor(0.6931, dtype=oneflow.float32)
    """
    if label_smoothing == 0.0:
        return _C.cross_entropy(input, target, weight, ignore_index, reduction)
    return _C.cross_entropy(input, target, weight, ignore_index, reduction, label_smoothing)


def sparse_softmax_cross_entropy(labels: Any, logits: Any) -> Any:
    """`cross_entropy` of each sample.

    Args:
        labels: Tensor (N,) of integers, the class numbers
        logits: Tensor (N, classes) of any scores

    Returns:
        Tensor (N,)

    Example:
        >>> import oneflow as flow
        >>> labels, logits = flow.tensor([0]), flow.zeros(1, 2)
        >>> flow.nn.functional.sparse_softmax_cross_entropy(labels, logits)
        tensor([0.6931], dtype=oneflow.float32)
    """
    return _C.sparse_softmax_cross_entropy(logits, labels)
