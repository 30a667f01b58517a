"""Every row of the op table: forward against numpy, gradients, in-place forms."""

from __future__ import annotations

from typing import Any

import pytest
from tests.ops.checker import (
    check_forward,
    check_gradient,
    check_inplace,
    differentiable,
    function_of,
)
from tests.ops.samples import dtypes_of, samples, table

import oneflow as flow
from tools.gen.table import Row

ROWS = [row for row in table() if row.places]
COMPARED = [(row, d) for row in ROWS if row.numpy and not row.inplace_only for d in dtypes_of(row)]
DERIVED = [
    row
    for row in ROWS
    if row.numpy and not row.inplace_only and not row.not_differentiable and row.signature.tensors
]
IN_PLACE = [(row, d) for row in ROWS if row.inplace_name and row.numpy for d in dtypes_of(row)]


def name_of(value: object) -> str:
    """How a case is called in pytest's report."""
    return value.name if isinstance(value, Row) else str(value)


@pytest.mark.parametrize(("row", "dtype"), COMPARED, ids=name_of)
def test_forward(row: Row, dtype: str) -> None:
    checked = 0
    for sample in samples(row, dtype):
        to_integers = "dtype" in sample.arguments and sample.arguments["dtype"].kind == "i"
        if to_integers and not sample.finite:
            continue  # no integer stands for NaN
        check_forward(row, sample, function_of(row))
        checked += 1
    assert checked > 0


@pytest.mark.parametrize("row", DERIVED, ids=name_of)
def test_gradient(row: Row) -> None:
    checked = 0
    for sample in samples(row, "float64"):
        if sample.large or not sample.finite or not differentiable(row, sample):
            continue
        checked += check_gradient(row, sample, function_of(row))
    assert checked > 0


@pytest.mark.parametrize(("row", "dtype"), IN_PLACE, ids=name_of)
def test_in_place(row: Row, dtype: str) -> None:
    checked = [check_inplace(row, sample) for sample in samples(row, dtype)]
    fits = dtype != "int64" or row.name not in ("div",)
    assert any(checked) == fits


@pytest.mark.parametrize("first", ["float32", "float64"])
@pytest.mark.parametrize("second", ["float32", "float64", "int64"])
def test_gradients_have_the_dtype_of_their_operand(first: str, second: str) -> None:
    x = flow.tensor([1.0, 2.0], dtype=getattr(flow, first), requires_grad=True)
    y = flow.tensor([3, 4], dtype=getattr(flow, second))
    y.requires_grad = second != "int64"
    flow._C.mul(x, y).sum().backward()
    assert x.grad is not None
    assert x.grad.dtype == x.dtype
    assert x.grad.numpy().tolist() == [3.0, 4.0]
    if y.requires_grad:
        assert y.grad is not None
        assert y.grad.dtype == y.dtype


SECOND = ["mul", "div", "sub", "scalar_mul", "relu", "matmul", "sum", "mean", "copy", "linear",
          "view", "expand", "permute", "narrow", "select"]  # fmt: skip


@pytest.mark.parametrize("name", SECOND)
def test_second_derivative(name: str) -> None:
    """The gradient of the square of the op, as an op of its own."""
    row = next(row for row in ROWS if row.name == name)

    def gradient(*arguments: Any, **keywords: Any) -> Any:
        first = next(a for a in arguments if isinstance(a, flow.Tensor))
        with flow.enable_grad():
            tracked = first if first.requires_grad else first.detach().requires_grad_()
            out = function_of(row)(tracked, *arguments[1:], **keywords)
            squared = flow._C.sum(flow._C.mul(out, out))
            return flow.autograd.grad(squared, tracked, create_graph=True)[0]

    checked = 0
    for sample in samples(row, "float64"):
        if not sample.large and sample.finite and sample.arguments:
            checked += check_gradient(row, sample, gradient)
    assert checked > 0


def test_every_row_that_python_sees_is_compared_or_says_why_not() -> None:
    """A row without `numpy` draws random numbers, writes in place, or fails on purpose."""
    silent = {row.name for row in ROWS if not row.numpy}
    assert silent == {
        "copy_",
        "empty",
        "fill_",
        "normal_",
        "rand",
        "randn",
        "scalar_div_",
        "scalar_sub_",
        "sum_to_shape",
        "throw_error",
        "throw_error_in_backward",
        "uniform_",
        "zero_",
    }
