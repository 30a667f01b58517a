"""Planted faults: the checks of this folder must find each of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.ops.checker import check_forward, check_gradient, function_of
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
