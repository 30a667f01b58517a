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


def _ctc_of(log_probs: np.ndarray, labels: np.ndarray, blank: int) -> float:
    """The loss of one sample, by adding up all its paths step by step."""
    paths: dict[tuple[int, int], float] = {(0, blank): 0.0}  # labels so far, last one -> log prob
    for step in log_probs:
        after: dict[tuple[int, int], float] = {}
        for (done, last), value in paths.items():
            for label, log_prob in enumerate(step):
                more = label not in (blank, last)
                if more and (done == len(labels) or labels[done] != label):
                    continue
                key = (done + more, label)
                after[key] = np.logaddexp(after.get(key, -np.inf), value + log_prob)
        paths = after
    ends = [value for (done, _), value in paths.items() if done == len(labels)]
    return -float(np.logaddexp.reduce(ends)) if ends else np.inf


def ctc_loss(
    log_probs: np.ndarray,
    targets: np.ndarray,
    input_lengths: np.ndarray,
    target_lengths: np.ndarray,
    blank: int,
    zero_infinity: bool,
    reduction: str,
) -> np.ndarray:
    """Connectionist temporal classification."""
    starts = np.concatenate([[0], np.cumsum(target_lengths)])
    losses = np.zeros(log_probs.shape[1])
    for n, (steps, count) in enumerate(zip(input_lengths, target_lengths)):
        row = targets[n] if targets.ndim == 2 else targets[starts[n] :]
        losses[n] = _ctc_of(log_probs[:steps, n], row[:count], blank)
    if zero_infinity:
        losses[np.isinf(losses)] = 0
    if reduction == "mean":
        return np.asarray((losses / np.maximum(target_lengths, 1)).mean())
    return np.asarray(losses.sum()) if reduction == "sum" else losses


def ctc_greedy_decoder(
    log_probs: np.ndarray, lengths: np.ndarray, merge: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The likeliest labels; the last class is none."""
    decoded = np.zeros((log_probs.shape[1], log_probs.shape[0]), np.int64)
    for n, steps in enumerate(lengths):
        best = [int(i) for i in log_probs[:steps, n].argmax(1)]
        merged = [b for i, b in enumerate(best) if not (merge and i and best[i - 1] == b)]
        kept = [b for b in merged if b != log_probs.shape[2] - 1]
        decoded[n, : len(kept)] = kept
    best_values = log_probs.max(2)
    sums = [[-best_values[:steps, n].sum()] for n, steps in enumerate(lengths)]
    return decoded, np.array(sums)


def triplet_margin(
    anchor: np.ndarray,
    positive: np.ndarray,
    negative: np.ndarray,
    margin: float,
    p: float,
    eps: float,
    swap: bool,
    reduction: str,
) -> np.ndarray:
    """Triplet loss of vectors on the last axis."""

    def distance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.asarray(np.linalg.norm(a - b + eps, ord=p, axis=-1))

    far = distance(anchor, negative)
    far = np.minimum(far, distance(positive, negative)) if swap else far
    return reduced(np.maximum(distance(anchor, positive) - far + margin, 0), reduction)


def combined_margin(
    x: np.ndarray, label: np.ndarray, m1: float, m2: float, m3: float
) -> np.ndarray:
    """Cosines, those of the true classes moved."""
    true = np.arange(x.shape[1]) == label[:, None]
    return np.where(true, np.cos(np.arccos(x) * m1 + m2) - m3, x)


NAMES: dict[str, Any] = {
    "triplet_margin": triplet_margin,
    "combined_margin": combined_margin,
    "ctc_loss": ctc_loss,
    "ctc_greedy_decoder": ctc_greedy_decoder,
    "reduced": reduced,
    "smooth_l1": smooth_l1,
    "kl_div": kl_div,
    "bce": bce,
    "bce_logits": bce_logits,
    "cross_entropy": cross_entropy,
}
