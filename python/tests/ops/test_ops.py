"""Every row of the op table: forward against numpy, gradients, in-place forms."""

from __future__ import annotations

import pytest
from tests.ops.checker import (
    check_forward,
    check_gradient,
    check_inplace,
    differentiable,
    function_of,
    gradient_of,
)
from tests.ops.samples import dtypes_of, each, samples, table

from tools.gen.table import Row

ROWS = [row for row in table() if row.places]
COMPARED = [(row, d) for row in ROWS if row.numpy and not row.inplace_only for d in dtypes_of(row)]
DERIVED = [
    row
    for row in ROWS
    if row.numpy
    and not row.inplace_only
    and not row.python_name.endswith("_")
    and not row.not_differentiable
    and row.signature.tensors
]
IN_PLACE = [(row, d) for row in ROWS if row.inplace_name and row.numpy for d in dtypes_of(row)]


@each(("row", "dtype"), COMPARED)
def test_forward(row: Row, dtype: str) -> None:
    checked = 0
    for sample in samples(row, dtype):
        to_integers = "dtype" in sample.arguments and sample.arguments["dtype"].kind == "i"
        if to_integers and not sample.finite:
            continue  # no integer stands for NaN
        check_forward(row, sample, function_of(row))
        checked += 1
    assert checked > 0


@each("row", DERIVED)
def test_gradient(row: Row) -> None:
    checked = 0
    for sample in samples(row, "float64"):
        if sample.large or not sample.finite or not differentiable(row, sample):
            continue
        checked += check_gradient(row, sample, function_of(row))
    assert checked > 0


@each(("row", "dtype"), IN_PLACE)
def test_in_place(row: Row, dtype: str) -> None:
    checked = [check_inplace(row, sample) for sample in samples(row, dtype)]
    gives_floats = row.promotes.startswith(("QuotientDtype", "FloatDtype"))
    fits = dtype not in ("bool", "int64") or not gives_floats
    assert any(checked) == fits


@each("row", DERIVED)
def test_second_derivative(row: Row) -> None:
    """The gradient of the square of the op, as an op of its own; or the error that says no."""
    checked = 0
    for sample in samples(row, "float64"):
        names = [] if sample.large or not sample.finite else differentiable(row, sample)
        if checked == 3 or not names or not sample.operands[names[0]].base.size:
            continue
        call = gradient_of(row, sample, names[0])
        if row.once_differentiable:
            with pytest.raises(RuntimeError, match="differentia"):
                check_gradient(row, sample, call)
            return
        checked += check_gradient(row, sample, call)
    assert checked > 0
