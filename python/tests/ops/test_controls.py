"""Planted faults: the checks of this folder must find each of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.ops import test_bad_input
from tests.ops.checker import check_forward, check_gradient, check_inplace, function_of
from tests.ops.samples import samples, table

import oneflow as flow
from tools.gen.table import Row


def row_called(name: str) -> Row:
    """A row of the table."""
    return next(row for row in table() if row.name == name)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("add", "input - alpha * other"),
        ("sum", "np.sum(input, axis=axis(dim), keepdims=True)"),
        ("mul", "input * other + (other == 0.5)"),
        ("relu", "np.abs(input)"),
        ("matmul", "np.matmul(input, other) * (1 + 1e-3)"),
        ("argmax", "np.argmin(input, axis=dim, keepdims=keepdim)"),
        ("eq", "(input == other).astype(np.int64)"),
    ],
)
def test_a_wrong_reference_is_noticed(name: str, wrong: str) -> None:
    row = replace(row_called(name), numpy=wrong)
    if name == "mul":
        wrong_row = replace(row, numpy="np.where(np.isnan(input), 0, input * other)")
        row = wrong_row
    with pytest.raises(AssertionError):
        for sample in samples(row, "float32"):
            check_forward(row, sample, function_of(row))


def forgets_a_factor(x: Any, y: Any) -> Any:
    """x * y whose gradient for x is right and for y is doubled."""
    return flow._C.mul(x, y) + flow._C.mul(x.detach(), y) - flow._C.mul(x.detach(), y.detach())


def loses_history(x: Any, y: Any) -> Any:
    """x * y without a gradient."""
    return flow._C.mul(x, y).detach()


def ignores_broadcasting(x: Any, y: Any) -> Any:
    """x * y where only the first row of x gets its gradient."""
    product = flow._C.mul(x, y)
    return product.detach() + flow._C.mul(x, y) - flow._C.mul(x, y.detach())


@pytest.mark.parametrize("wrong", [forgets_a_factor, loses_history, ignores_broadcasting])
def test_a_wrong_gradient_is_noticed(wrong: Any) -> None:
    row = row_called("mul")
    with pytest.raises(AssertionError):
        for sample in samples(row, "float64"):
            if not sample.large and sample.finite:
                check_gradient(row, sample, wrong)


def test_a_missing_error_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """An op that takes what it should not; one whose error does not say which op it is."""
    row = row_called("matmul")
    monkeypatch.setattr(flow._C, "matmul", lambda *x, **y: flow.ones(1))
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        test_bad_input.test_bad_inputs_of_the_row(row, 0)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        test_bad_input.test_a_string_is_no_tensor(row)

    def nameless(*args: Any, **keywords: Any) -> Any:
        raise TypeError("bad argument")

    monkeypatch.setattr(flow._C, "matmul", nameless)
    with pytest.raises(AssertionError):
        test_bad_input.test_unknown_keyword_and_missing_argument(row)


def test_a_wrong_update_in_place_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that gives a new tensor, and one that adds twice."""
    row = row_called("add")
    right = flow._C.add_
    for wrong in (flow._C.add, lambda x, y, **more: right(right(x, y, **more), y)):
        monkeypatch.setattr(flow._C, "add_", wrong)
        with pytest.raises(AssertionError):
            for sample in samples(row, "float32"):
                check_inplace(row, sample)
