"""einsum, tensordot and linalg, in the forms that only Python has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.support import must_fail, raises, same

import oneflow as flow


def draw(*shape: int, seed: int = 0) -> Any:
    """Numbers to compute with."""
    return flow.tensor(np.random.default_rng(seed).standard_normal(shape))


def array(tensor: Any) -> np.ndarray:
    """As numpy sees it."""
    return np.asarray(tensor.numpy())


def test_einsum_takes_operands_a_list_or_lists_of_labels() -> None:
    x, y = draw(2, 3), draw(3, 4, seed=1)
    expected = array(x) @ array(y)
    same(flow.einsum("ij,jk->ik", x, y), expected, 1e-12)
    same(flow.einsum("ij,jk->ik", [x, y]), expected, 1e-12)
    same(flow.einsum(x, [0, 1], y, [1, 2], [0, 2]), expected, 1e-12)
    same(flow.einsum(x, [Ellipsis, 1], y, [1, 2]), expected, 1e-12)
    with raises(ValueError, r"\[einsum\] .*labels"):
        flow.einsum(x, [0, 52])
    with raises(RuntimeError, r"\[einsum\] .*one size"):
        flow.einsum("ij,jk", x, x)


@pytest.mark.parametrize(
    "equation", ["ab,bc,cd,de,ef,fg->ag", "ab,cd,bc->ad", "abc,cd,be,de->a", "a,b,c,d,e,f->"]
)
def test_einsum_of_many_operands_in_any_order(equation: str) -> None:
    """Up to five operands all orders are tried, beyond that the cheapest pair goes first."""
    sizes = dict(zip("abcdefg", (2, 3, 4, 2, 3, 2, 4)))
    terms = equation.split("->")[0].split(",")
    operands = [draw(*(sizes[c] for c in t), seed=i) for i, t in enumerate(terms)]
    expected = np.einsum(equation, *(array(x) for x in operands))
    same(flow.einsum(equation, *operands), np.asarray(expected), 1e-12)


def test_einsum_order_keeps_intermediates_small() -> None:
    """From left to right this would need an array of 10^10 numbers."""
    vector = draw(100000)
    got = flow.einsum("i,j,i,j->", vector, vector, vector, vector)
    same(got, np.asarray((array(vector) ** 2).sum() ** 2), 1e-6)


def test_tensordot_forms() -> None:
    x, y = draw(2, 3, 4), draw(4, 3, 5, seed=1)
    expected = np.tensordot(array(x), array(y), ([1, 2], [1, 0]))
    same(flow.tensordot(x, y, ([1, 2], [1, 0])), expected, 1e-12)
    same(flow.tensordot(x, y, flow.tensor([[1, 2], [1, 0]])), expected, 1e-12)
    same(flow.tensordot(x, y, dims=1), np.tensordot(array(x), array(y), 1), 1e-12)
    same(flow.tensordot(x, y, flow.tensor([1])), np.tensordot(array(x), array(y), 1), 1e-12)
    same(flow.tensordot(x, y, (2, 0)), np.tensordot(array(x), array(y), (2, 0)), 1e-12)
    with raises(TypeError, r"\[tensordot\] .*dims"):
        flow.tensordot(x, y, "ij")
    out = flow.zeros(2, 5, dtype=flow.float64)
    assert flow.tensordot(x, y, ([1, 2], [1, 0]), out=out) is out
    same(out, expected, 1e-12)


def test_linalg() -> None:
    x = draw(2, 3, 3)
    same(flow.linalg.inv(x), np.linalg.inv(array(x)), 1e-10)
    y = draw(2, 3, 3, seed=1)
    same(flow.linalg.cross(x, y), np.cross(array(x), array(y)), 1e-12)
    same(flow.linalg.diagonal(x), np.diagonal(array(x), axis1=-2, axis2=-1), 0)
    with raises(RuntimeError, r"\[inv\] .*singular one, number \d of 2"):
        flow.linalg.inv(flow.ones(2, 3, 3)).numpy()


def test_control(monkeypatch: pytest.MonkeyPatch) -> None:
    """An einsum in float32, and one that forgets an operand."""
    right = flow.einsum
    monkeypatch.setattr(flow, "einsum", lambda *x: right(*x).float().double())
    must_fail(test_einsum_takes_operands_a_list_or_lists_of_labels)
    monkeypatch.setattr(flow, "einsum", lambda equation, *x: right(equation, *x[:-1], x[-1] * 2))
    must_fail(test_einsum_of_many_operands_in_any_order, "ab,cd,bc->ad")
