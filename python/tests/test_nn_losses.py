"""Losses that compare element by element, by class, and of sequences: against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.support import must_fail, raises, same

import oneflow as flow
from oneflow import nn

Array = np.ndarray[Any, Any]
rng = np.random.default_rng(0)
X, Y = rng.standard_normal((2, 4, 3))
P, Q = rng.uniform(0.05, 0.95, (2, 4, 3))
W = rng.uniform(0.5, 2.0, (4, 3))


def smooth(x: Array, y: Array, beta: float) -> Array:
    d = np.abs(x - y)
    return np.where(d < beta, d * d / (2 * beta), d - beta / 2)


def cross(p: Array, y: Array) -> Array:
    return -(y * np.log(p) + (1 - y) * np.log(1 - p))


def with_logits(x: Array, y: Array, positive: Any = 1.0) -> Array:
    return np.logaddexp(0, -x) * y * positive + np.logaddexp(0, x) * (1 - y)


POSITIVE = np.array([1.0, 2.0, 3.0])
tensor = flow.tensor

# (class, its settings, operands, the loss of each element or sample)
CASES: list[tuple[Any, dict[str, Any], tuple[Array, ...], Array]] = [
    (nn.L1Loss, {}, (X, Y), np.abs(X - Y)),
    (nn.MSELoss, {}, (X, Y), (X - Y) ** 2),
    (nn.SmoothL1Loss, {"beta": 0.5}, (X, Y), smooth(X, Y, 0.5)),
    (nn.BCELoss, {}, (P, Q), cross(P, Q)),
    (nn.BCELoss, {"weight": tensor(W)}, (P, Q), W * cross(P, Q)),
    (nn.BCEWithLogitsLoss, {}, (X, Q), with_logits(X, Q)),
    (
        nn.BCEWithLogitsLoss,
        {"weight": tensor(W), "pos_weight": tensor(POSITIVE)},
        (X, Q),
        W * with_logits(X, Q, POSITIVE),
    ),
    (nn.KLDivLoss, {}, (X, P), P * (np.log(P) - X)),
    (nn.KLDivLoss, {"log_target": True}, (X, Y), np.exp(Y) * (Y - X)),
]


def check(make: Any, settings: Any, operands: Any, each: Array) -> None:
    given = [tensor(operand) for operand in operands]
    same(make(**settings, reduction="none")(*given), each, 1e-9)
    same(make(**settings, reduction="sum")(*given), each.sum(), 1e-9)
    same(make(**settings)(*given), each.mean(), 1e-9)


@pytest.mark.parametrize(("make", "settings", "operands", "each"), CASES)
def test_loss(make: Any, settings: Any, operands: Any, each: Array) -> None:
    check(make, settings, operands, each)
    must_fail(check, make, settings, operands, each * 1.0001)


def test_batch_mean_of_kl_divergence() -> None:
    each = P * (np.log(P) - X)
    same(nn.KLDivLoss("batchmean")(tensor(X), tensor(P)), each.sum() / 4, 1e-10)


def log_softmax(x: Array) -> Array:
    return np.asarray(x - x.max(1, keepdims=True) - np.log(
        np.exp(x - x.max(1, keepdims=True)).sum(1, keepdims=True)))  # fmt: skip


def test_cross_entropy_with_label_smoothing() -> None:
    target = np.array([0, 2, 1, 2])
    logp = log_softmax(X)
    picked = -logp[np.arange(4), target]
    want = (1 - 0.2) * picked + 0.2 * -logp.mean(1)
    loss = nn.CrossEntropyLoss(label_smoothing=0.2)
    same(loss(tensor(X), tensor(target)), want.mean(), 1e-9)


def test_cross_entropy_of_probabilities() -> None:
    probabilities = P / P.sum(1, keepdims=True)
    want = -(probabilities * log_softmax(X)).sum(1)
    loss = nn.CrossEntropyLoss(reduction="none")
    same(loss(tensor(X), tensor(probabilities)), want, 1e-9)


def test_cross_entropy_of_pictures() -> None:
    x = rng.standard_normal((2, 3, 4, 5))
    target = rng.integers(0, 3, (2, 4, 5))
    picked = -np.take_along_axis(log_softmax(x), target[:, None], 1)[:, 0]
    same(nn.CrossEntropyLoss()(tensor(x), tensor(target)), picked.mean(), 1e-9)


def ctc_by_hand(logp: Array, target: list[int], blank: int) -> float:
    """Minus the logarithm of the sum over all alignments, one by one."""
    import itertools

    total = 0.0
    for path in itertools.product(range(logp.shape[1]), repeat=len(logp)):
        merged = [k for i, k in enumerate(path) if i == 0 or path[i - 1] != k]
        if [k for k in merged if k != blank] == target:
            total += float(np.exp(sum(logp[t, k] for t, k in enumerate(path))))
    return -float(np.log(total))


def test_ctc() -> None:
    logp = log_softmax(rng.standard_normal((8, 3))).reshape(4, 2, 3)
    lengths, counts = [4, 3], [2, 1]
    targets = np.array([[1, 1], [2, 0]])
    each = [ctc_by_hand(logp[: lengths[n], n], list(targets[n, : counts[n]]), 0) for n in (0, 1)]
    given = (tensor(logp), tensor(targets), tensor(lengths), tensor(counts))
    same(nn.CTCLoss(reduction="none")(*given), each, 1e-6)
    same(nn.CTCLoss(reduction="sum")(*given), sum(each), 1e-6)
    same(nn.CTCLoss()(*given), np.mean([e / c for e, c in zip(each, counts)]), 1e-6)
    flat = (tensor(logp), tensor([1, 1, 2]), tensor(lengths), tensor(counts))
    same(nn.CTCLoss(reduction="none")(*flat), each, 1e-6)


loose: Any = nn
BAD: list[tuple[Any, Any, str]] = [
    (lambda: loose.L1Loss("max"), ValueError, "none, mean or sum, got 'max'"),
    (lambda: loose.KLDivLoss("max"), ValueError, "none, mean, sum or batchmean, got 'max'"),
    (lambda: loose.CrossEntropyLoss(label_smoothing=2.0), ValueError, "label_smoothing from 0"),
    (lambda: loose.MSELoss()(flow.ones(2), flow.ones(3)), RuntimeError, "mse_loss"),
]


@pytest.mark.parametrize(("wrong", "kind", "message"), BAD)
def test_bad_input_is_a_clear_error(wrong: Any, kind: Any, message: str) -> None:
    with raises(kind, message):
        wrong()


def test_repr() -> None:
    assert repr(nn.SmoothL1Loss()) == "SmoothL1Loss(beta=1.0, reduction='mean')"
