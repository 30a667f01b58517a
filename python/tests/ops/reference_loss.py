"""Losses, as numpy says them."""

from __future__ import annotations

from typing import Any

import numpy as np


def reduced(losses: np.ndarray, reduction: str) -> np.ndarray:
    """Their mean, their sum, or as they are."""
    if reduction == "none":
        return losses
    return np.asarray(losses.mean() if reduction == "mean" else losses.sum())


def smooth_l1(difference: np.ndarray, beta: float) -> np.ndarray:
    """A parabola with a line on either side."""
    d = np.abs(difference)
    return np.where(d < beta, d * d / (2 * beta or 1), d - beta / 2)


def kl_div(x: np.ndarray, t: np.ndarray, log_target: bool, reduction: str) -> np.ndarray:
    """Kullback-Leibler divergence; 0 where a probability is not positive."""
    if log_target:
        losses = np.exp(t) * (t - x)
    else:
        losses = np.where(t > 0, t * (np.log(np.where(t > 0, t, 1)) - x), 0)
    if reduction == "batchmean":
        return np.asarray(losses.sum() / x.shape[0])
    return reduced(losses, reduction)


def bce(x: np.ndarray, t: np.ndarray, weight: np.ndarray | None, reduction: str) -> np.ndarray:
    """Binary cross entropy of probabilities."""
    yes, no = np.maximum(np.log(x), -100), np.maximum(np.log1p(-x), -100)
    losses = -(t * yes + (1 - t) * no)
    return reduced(losses if weight is None else losses * weight, reduction)


def bce_logits(
    x: np.ndarray,
    t: np.ndarray,
    weight: np.ndarray | None,
    pos_weight: np.ndarray | None,
    reduction: str,
) -> np.ndarray:
    """Binary cross entropy of logits."""
    positive = 1 if pos_weight is None else pos_weight
    losses = positive * t * np.logaddexp(0, -x) + (1 - t) * np.logaddexp(0, x)
    return reduced(losses if weight is None else losses * weight, reduction)


def _log_softmax(x: np.ndarray, axis: int) -> np.ndarray:
    shifted = x - x.max(axis=axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))


def cross_entropy(
    x: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None,
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
) -> np.ndarray:
    """Cross entropy; classes are on axis 1, or the only one."""
    axis = 0 if x.ndim == 1 else 1
    classes = x.shape[axis]
    along = [-1 if d == axis else 1 for d in range(x.ndim)]
    weights = (np.ones(classes) if weight is None else weight).reshape(along)
    if target.dtype.kind == "f":
        wanted, used = target, None
    else:
        one = np.arange(classes).reshape(along) == np.expand_dims(target, axis)
        counted = np.expand_dims(target != ignore_index, axis)
        wanted, used = one * counted, (one * counted * weights).sum()
    spread = label_smoothing / classes
    if used is not None:
        spread = spread * np.expand_dims(target != ignore_index, axis)
    soft = (1 - label_smoothing) * wanted + spread
    losses = -(soft * weights * _log_softmax(x, axis)).sum(axis)
    if used is None or reduction != "mean":
        return reduced(losses, reduction)
    return np.asarray(losses.sum() / used)


NAMES: dict[str, Any] = {
    "reduced": reduced,
    "smooth_l1": smooth_l1,
    "kl_div": kl_div,
    "bce": bce,
    "bce_logits": bce_logits,
    "cross_entropy": cross_entropy,
}
