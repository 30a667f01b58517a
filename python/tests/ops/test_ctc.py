"""CTC loss: the recursion of Graves and others (ICML 2006, equations 6 to 8) in float64, itself
checked against the sum over all alignments; the gradient against its differences."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from tests.support import must_fail

import oneflow as flow
from oneflow import nn

Array = np.ndarray[Any, Any]


@dataclass
class Batch:
    """Logits (T, N, C), and the labels of each sample."""

    logits: Array
    labels: list[list[int]]
    lengths: list[int]
    blank: int

    @property
    def joined(self) -> Array:
        return np.array([label for row in self.labels for label in row], np.int64)

    @property
    def padded(self) -> Array:
        out = np.zeros((len(self.labels), max(1, *map(len, self.labels))), np.int64)
        for row, labels in zip(out, self.labels):
            row[: len(labels)] = labels
        return out


def random_batch(rng: Any, time: int, classes: int, most: int) -> Batch:
    samples = int(rng.integers(2, 4))
    blank = int(rng.integers(classes))
    others = [c for c in range(classes) if c != blank]
    counts = rng.integers(0, most + 1, samples)
    labels = [[int(c) for c in rng.choice(others, count)] for count in counts]
    lengths = [int(n) for n in rng.integers(1, time + 1, samples)]
    return Batch(rng.normal(0, 2, (time, samples, classes)), labels, lengths, blank)


def log_softmax(x: Array) -> Array:
    shifted = x - x.max(-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(-1, keepdims=True)))


def by_recursion(log_probs: Array, labels: list[int], blank: int) -> float:
    """The loss of one sample, (T, C)."""
    states = [blank, *itertools.chain.from_iterable((label, blank) for label in labels)]
    alpha = np.full(len(states), -np.inf)
    alpha[0] = log_probs[0, blank]
    if labels:
        alpha[1] = log_probs[0, labels[0]]
    for step in log_probs[1:]:
        came = [np.r_[np.full(back, -np.inf), alpha][: alpha.size] for back in range(3)]
        for s, label in enumerate(states):
            if label == blank or (s >= 2 and states[s - 2] == label):
                came[2][s] = -np.inf
        alpha = np.logaddexp.reduce(came) + step[states]
    return -float(np.logaddexp.reduce(alpha[-2:]))


def by_enumeration(log_probs: Array, labels: list[int], blank: int) -> float:
    total = 0.0
    for path in itertools.product(range(log_probs.shape[1]), repeat=len(log_probs)):
        if [c for c, _ in itertools.groupby(path) if c != blank] == labels:
            total += float(np.exp(log_probs[np.arange(len(path)), path].sum()))
    with np.errstate(divide="ignore"):
        return -float(np.log(total))


def losses(batch: Batch, logits: Array) -> Array:
    log_probs = log_softmax(logits)
    each = zip(batch.labels, batch.lengths)
    found = [by_recursion(log_probs[:t, n], row, batch.blank) for n, (row, t) in enumerate(each)]
    return np.array(found)


def oneflow_losses(batch: Batch, logits: Any, joined: bool, **options: Any) -> Any:
    targets = flow.tensor(batch.joined if joined else batch.padded)
    counts = flow.tensor([len(row) for row in batch.labels])
    loss = nn.CTCLoss(blank=batch.blank, **options)
    return loss(flow.log_softmax(logits, 2), targets, flow.tensor(batch.lengths), counts)


def test_the_recursion_is_the_sum_over_alignments() -> None:
    rng = np.random.default_rng(1)
    for _ in range(60):
        batch = random_batch(rng, time=5, classes=3, most=3)
        log_probs = log_softmax(batch.logits)
        for n, (row, t) in enumerate(zip(batch.labels, batch.lengths)):
            want = by_enumeration(log_probs[:t, n], row, batch.blank)
            got = by_recursion(log_probs[:t, n], row, batch.blank)
            assert got == pytest.approx(want, rel=1e-10)


def check_losses(batch: Batch, joined: bool, dtype: Any = flow.float64, rtol: float = 1e-9) -> None:
    """Each reduction; losses that no alignment gives are infinite, or 0 where that is asked for."""
    want = losses(batch, batch.logits)
    logits = flow.tensor(batch.logits, dtype=dtype)
    for zeroes in (False, True):
        each = np.where(np.isinf(want), 0.0, want) if zeroes else want
        mean = np.mean(each / np.maximum([len(row) for row in batch.labels], 1))
        for reduction, number in (("none", each), ("sum", each.sum()), ("mean", mean)):
            options = {"reduction": reduction, "zero_infinity": zeroes}
            got = oneflow_losses(batch, logits, joined, **options).numpy()
            np.testing.assert_allclose(got, number, rtol=rtol)


def check_gradient(batch: Batch, joined: bool, dtype: Any = flow.float64, tolerance: float = 1e-6,
                   count: int = 40) -> None:  # fmt: skip
    """Of a weighted sum of the losses, at some of the logits."""
    rng = np.random.default_rng(3)
    weights = rng.uniform(0.5, 1.5, len(batch.labels)) * (losses(batch, batch.logits) < np.inf)
    leaf = flow.tensor(batch.logits, dtype=dtype, requires_grad=True)
    each = oneflow_losses(batch, leaf, joined, reduction="none", zero_infinity=True)
    (each * flow.tensor(weights, dtype=dtype)).sum().backward()
    assert leaf.grad is not None
    got = leaf.grad.numpy()
    for _ in range(count):
        at = tuple(int(rng.integers(n)) for n in batch.logits.shape)
        ends = []
        for step in (1e-5, -1e-5):
            moved = batch.logits.copy()
            moved[at] += step
            ends.append(np.nansum(losses(batch, moved) * weights))
        assert abs(got[at] - (ends[0] - ends[1]) / 2e-5) < tolerance, at


@pytest.mark.parametrize("joined", [False, True])
def test_random_batches(joined: bool) -> None:
    rng = np.random.default_rng(2)
    for _ in range(30):
        batch = random_batch(rng, time=8, classes=5, most=4)
        check_losses(batch, joined)
        check_gradient(batch, joined)


def test_a_long_sequence_in_float32() -> None:
    rng = np.random.default_rng(4)
    batch = random_batch(rng, time=300, classes=12, most=60)
    batch.lengths = [300] * len(batch.labels)
    check_losses(batch, True, flow.float32, 1e-5)
    check_gradient(batch, True, flow.float32, 1e-3, count=6)


def test_a_wrong_blank_is_noticed() -> None:
    batch = random_batch(np.random.default_rng(5), time=8, classes=5, most=3)
    batch.lengths = [8] * len(batch.labels)
    got = oneflow_losses(batch, flow.tensor(batch.logits), True, reduction="none").numpy()
    np.testing.assert_allclose(got, losses(batch, batch.logits), rtol=1e-9)
    batch.blank = next(
        c for c in range(5) if c != batch.blank and all(c not in row for row in batch.labels)
    )
    must_fail(np.testing.assert_allclose, got, losses(batch, batch.logits))


def test_one_probability_that_is_nan() -> None:
    """The loss is NaN, not that of the paths which avoid it."""
    for t in range(3):
        log_probs = np.full((3, 1, 2), -0.5)
        log_probs[t, 0, 1] = np.nan
        one = flow.tensor([1])
        loss = nn.CTCLoss()(flow.tensor(log_probs), flow.tensor([[1]]), flow.tensor([3]), one)
        assert np.isnan(loss.item())
