"""Gradients of products, running products and sorted elements where formulas divide by 0."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.support import must_fail

import oneflow as flow

ROWS = [
    [2.0, 3.0, -1.5, 0.5],
    [2.0, 0.0, -1.5, 0.5],
    [0.0, 3.0, -1.5, 0.0],
    [0.0, 0.0, 0.0, 2.0],
]


def products_of_others(row: np.ndarray, end: int) -> np.ndarray:
    """For each element the product of the others among the first `end`."""
    out = np.zeros(row.size)
    for i in range(end):
        out[i] = np.prod(np.delete(row[:end], i))
    return out


@pytest.mark.parametrize("keepdim", [False, True])
def test_gradient_of_prod_with_zeros(keepdim: bool) -> None:
    x = flow.tensor(ROWS, dtype=flow.float64, requires_grad=True)
    flow.prod(x, 1, keepdim).sum().backward()
    want = np.stack([products_of_others(np.array(row), 4) for row in ROWS])
    np.testing.assert_allclose(x.grad.numpy(), want, rtol=1e-12)


def test_second_derivative_of_prod_with_zeros() -> None:
    for row in ROWS[:3]:
        x = flow.tensor(row, dtype=flow.float64, requires_grad=True)
        gradient = flow.autograd.grad(flow.prod(x), x, create_graph=True)[0]
        for i in range(4):
            second = flow.autograd.grad(gradient[i], x, retain_graph=True)[0].numpy()
            want = [0.0 if i == j else np.prod(np.delete(row, [i, j])) for j in range(4)]
            np.testing.assert_allclose(second, want, rtol=1e-12, err_msg=f"{row} {i}")


def test_gradient_of_cumprod_with_zeros() -> None:
    weights = np.array([1.0, -2.0, 0.5, 3.0])
    x = flow.tensor(ROWS, dtype=flow.float64, requires_grad=True)
    (flow.cumprod(x, 1) * flow.tensor(weights)).sum().backward()
    for row, got in zip(ROWS, x.grad.numpy()):
        want = sum(w * products_of_others(np.array(row), i + 1) for i, w in enumerate(weights))
        np.testing.assert_allclose(got, want, rtol=1e-12)


def test_second_derivative_of_cumprod_with_a_zero() -> None:
    row = ROWS[1]
    x = flow.tensor(row, dtype=flow.float64, requires_grad=True)
    gradient = flow.autograd.grad(flow.cumprod(x, 0).sum(), x, create_graph=True)[0]
    for i in range(4):
        second = flow.autograd.grad(gradient[i], x, retain_graph=True)[0].numpy()
        for j, end in itertools.product(range(4), [0]):
            want = end + sum(
                np.prod(np.delete(row[: n + 1], [i, j])) for n in range(4) if i <= n and j <= n
            )
            assert second[j] == pytest.approx(0.0 if i == j else want), (i, j)


def test_equal_elements_share_the_gradient_of_max() -> None:
    x = flow.tensor([[1.0, 3.0, 3.0], [2.0, 0.0, 2.0]], requires_grad=True)
    flow.amax(x, 1).sum().backward()
    assert x.grad.numpy().tolist() == [[0.0, 0.5, 0.5], [0.5, 0.0, 0.5]]
    x.grad = None
    flow.max(x, 1).values.sum().backward()
    assert x.grad.numpy().tolist() == [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    x.grad = None
    flow.max(x).backward()
    assert x.grad.numpy().tolist() == [[0.0, 0.5, 0.5], [0.0, 0.0, 0.0]]


def test_results_have_names() -> None:
    x = flow.tensor([[1.0, 3.0, 2.0]])
    for result in (
        flow.max(x, 1),
        x.min(1),
        flow.sort(x),
        x.topk(2),
        flow.median(x, 1),
        flow.mode(x),
    ):
        values, indices = result
        assert result.values is values
        assert result.indices is indices
        assert isinstance(result, tuple)
        assert indices.dtype == flow.int64


def test_control(monkeypatch: pytest.MonkeyPatch) -> None:
    """A product whose gradient divides by its elements."""
    right = flow.prod

    def divides(x: flow.Tensor, *args: object) -> flow.Tensor:
        logs = flow.log(x.abs()).sum(1)
        return logs.exp() * flow.sign(right(x.detach(), *args))

    monkeypatch.setattr(flow, "prod", divides)
    must_fail(test_gradient_of_prod_with_zeros, False)
