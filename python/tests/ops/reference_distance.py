"""Distances between vectors and losses made of them, as numpy says them."""

from __future__ import annotations

import numpy as np
from tests.ops.reference_loss import reduced


def vector_norm(x: np.ndarray, p: float, dim: int, keepdim: bool) -> np.ndarray:
    """The p-norm along one axis."""
    if x.ndim == 0:
        return np.abs(x)
    return np.asarray(np.linalg.norm(x, ord=p, axis=dim, keepdims=keepdim))


def cosine_similarity(x: np.ndarray, y: np.ndarray, dim: int, eps: float) -> np.ndarray:
    """The cosine of angles between vectors."""
    x, y = np.broadcast_arrays(x, y)
    lengths = [np.maximum(vector_norm(a, 2, dim, False), eps) for a in (x, y)]
    return (x * y).sum(axis=dim) / (lengths[0] * lengths[1])


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
    """By how much anchors are not nearer to the positives."""
    near = vector_norm(anchor - positive + eps, p, -1, False)
    far = vector_norm(anchor - negative + eps, p, -1, False)
    if swap:
        far = np.minimum(far, vector_norm(positive - negative + eps, p, -1, False))
    return reduced(np.maximum(near - far + margin, 0), reduction)


def combined_margin(
    x: np.ndarray, label: np.ndarray, m1: float, m2: float, m3: float
) -> np.ndarray:
    """Cosines with margins for the class of each row."""
    out = x.copy()
    rows = np.arange(len(label))
    out[rows, label] = np.cos(m1 * np.arccos(x[rows, label]) + m2) - m3
    return out


NAMES = {
    "combined_margin": combined_margin,
    "cosine_similarity": cosine_similarity,
    "triplet_margin": triplet_margin,
    "vector_norm": vector_norm,
}
