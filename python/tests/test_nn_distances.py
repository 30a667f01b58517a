"""Distances, and losses with margins: against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.support import must_fail, raises, same, values

import oneflow as flow
from oneflow import nn
from oneflow.nn import functional as F

Array = np.ndarray[Any, Any]
rng = np.random.default_rng(0)
X, Y = rng.standard_normal((2, 4, 3))
SIGN = np.sign(rng.standard_normal((4, 3)))
T = rng.standard_normal((3, 4, 5))


def distance(a: Array, b: Array, p: float) -> Array:
    return np.asarray((np.abs(a - b + 1e-6) ** p).sum(-1) ** (1 / p))


CASES: list[tuple[Any, dict[str, Any], tuple[Array, ...], Array]] = [
    (nn.MarginRankingLoss, {"margin": 0.3}, (X, Y, SIGN), np.maximum(0, -SIGN * (X - Y) + 0.3)),
    (
        nn.TripletMarginLoss,
        {"margin": 0.5},
        tuple(T),
        np.maximum(0, distance(T[0], T[1], 2) - distance(T[0], T[2], 2) + 0.5),
    ),
    (
        nn.TripletMarginLoss,
        {"p": 3.0, "swap": True},
        tuple(T),
        np.maximum(
            0,
            distance(T[0], T[1], 3)
            - np.minimum(distance(T[0], T[2], 3), distance(T[1], T[2], 3))
            + 1,
        ),
    ),
]


def check(make: Any, settings: Any, operands: Any, each: Array) -> None:
    given = [flow.tensor(operand) for operand in operands]
    same(make(**settings, reduction="none")(*given), each, 1e-9)
    same(make(**settings, reduction="sum")(*given), each.sum(), 1e-9)
    same(make(**settings)(*given), each.mean(), 1e-9)


@pytest.mark.parametrize(("make", "settings", "operands", "each"), CASES)
def test_loss(make: Any, settings: Any, operands: Any, each: Array) -> None:
    check(make, settings, operands, each)
    must_fail(check, make, settings, operands, each * 1.0001)


def test_combined_margin() -> None:
    cosines = np.clip(X / 3, -1, 1)
    label = np.array([0, 2, 1, 2])
    want = cosines.copy()
    rows = np.arange(4)
    want[rows, label] = np.cos(1.5 * np.arccos(cosines[rows, label]) + 0.1) - 0.2
    loss = nn.CombinedMarginLoss(1.5, 0.1, 0.2)
    same(loss(flow.tensor(cosines), flow.tensor(label)), want, 1e-6)


def test_distances() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 4, 3))
    cosine = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    same(nn.CosineSimilarity(dim=1)(flow.tensor(a), flow.tensor(b)), cosine, 1e-10)
    for p in (1.0, 2.0, 3.0):
        want = (np.abs(a - b + 1e-6) ** p).sum(1) ** (1 / p)
        same(nn.PairwiseDistance(p)(flow.tensor(a), flow.tensor(b)), want, 1e-10)
    kept = nn.PairwiseDistance(keepdim=True)(flow.tensor(a), flow.tensor(b))
    assert kept.shape == (4, 1)


def test_bad_input_is_a_clear_error() -> None:
    x = flow.ones(2, 3)
    with raises(ValueError, "none, mean or sum, got 'max'"):
        nn.MarginRankingLoss(reduction="max")
    with raises(RuntimeError, "cosine_similarity", "broadcast"):
        nn.CosineSimilarity()(x, flow.ones(2, 2))
    with raises(RuntimeError, "combined_margin_loss", "label"):
        nn.CombinedMarginLoss()(x, flow.tensor([0]))


def test_float16_of_large_and_of_small_vectors() -> None:
    """Their squares are out of float16's range; the results are not."""
    for size in (1e-4, 400.0):
        x = flow.tensor([[3 * size, 4 * size]], dtype=flow.float16)
        zero = flow.zeros(1, 2, dtype=flow.float16)
        for y in (F.normalize(x, dim=1), flow._C.l2_normalize(x, 1, 1e-12)):
            assert y.dtype == flow.float16
            same(y, [[0.6, 0.8]], 2e-3)
        same(F.normalize(zero, dim=1), [[0.0, 0.0]])
        alike = F.cosine_similarity(x, x, dim=1)
        assert alike.dtype == flow.float16
        same(alike, [1.0], 2e-3)
        apart = F.pairwise_distance(x, zero)
        assert apart.dtype == flow.float16
        np.testing.assert_allclose(values(apart), [5 * size], rtol=1e-2)


@pytest.mark.parametrize(("dtype", "size"), [(flow.float64, 1e-30), (flow.float32, 1e-20)])
def test_tiny_distances(dtype: Any, size: float) -> None:
    """Not the root of some least square; and where there is no distance, no gradient."""
    x = flow.tensor([[3 * size, 4 * size], [0.0, 0.0]], dtype=dtype, requires_grad=True)
    apart = F.pairwise_distance(x, flow.zeros(2, 2, dtype=dtype), eps=0.0)
    np.testing.assert_allclose(values(apart), [5 * size, 0.0], rtol=1e-3)
    apart.sum().backward()
    assert x.grad is not None
    same(x.grad, [[0.6, 0.8], [0.0, 0.0]], 1e-3)
