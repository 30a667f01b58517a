"""What is wrong is said: which op, what it expects, what it got."""

from __future__ import annotations

from typing import Any

import pytest
from tests.ops.checker import function_of, run
from tests.ops.operands import makers
from tests.ops.samples import Sample, each, samples, table, value

import oneflow as flow
from tools.gen.table import Row

ROWS = [row for row in table() if row.places]
BAD = [(row, i) for row in ROWS for i in range(len(row.bad_inputs))]
WITH_DEVICE = [row for row in ROWS if row.signature.param("device")]
WITH_TENSOR = [row for row in ROWS if row.signature.tensors]

ERRORS: dict[str, type[Exception]] = {
    "TypeError": TypeError,
    "ValueError": ValueError,
    "IndexError": IndexError,
    "RuntimeError": RuntimeError,
    "NotImplementedError": NotImplementedError,
    "OutOfMemoryError": flow.OutOfMemoryError,
}


def call_of(row: Row) -> Any:
    """The function to call: the in-place one where there is no other."""
    return function_of(row, inplace=row.inplace_only)


@each(("row", "index"), BAD)
def test_bad_inputs_of_the_row(row: Row, index: int) -> None:
    bad = row.bad_inputs[index]
    env = makers("float32", 0)
    given = {n: value(row, n, v, "float32", env) for n, v in bad["args"].items()}
    with pytest.raises(ERRORS[bad["error"]], match=bad["match"]) as caught:
        for result in run(row, Sample("bad", given), call_of(row)):
            result.numpy()
    assert str(caught.value).startswith("["), str(caught.value)


@each("row", WITH_TENSOR)
def test_a_string_is_no_tensor(row: Row) -> None:
    """The error names the op and shows its signature."""
    words = ["x"] * sum(p.required and not p.keyword_only for p in row.signature.params)
    name = row.inplace_name if row.inplace_only else row.python_name
    with pytest.raises(TypeError, match=rf"{name}\(.*Tensor\S* {row.signature.tensors[0].name}"):
        call_of(row)(*words)


@each("row", ROWS)
def test_unknown_keyword_and_missing_argument(row: Row) -> None:
    name = row.inplace_name if row.inplace_only else row.python_name
    with pytest.raises(TypeError, match=rf"\[{name}\]"):
        call_of(row)(no_such_argument=1)
    if any(p.required for p in row.signature.params):
        with pytest.raises(TypeError, match=rf"\[{name}\]"):
            call_of(row)()


@each("row", WITH_DEVICE)
def test_no_cuda_device(row: Row) -> None:
    """A device that is not there is an exception, not an abort."""
    given = samples(row, "float32") if row.samples or row.strategy != "none" else []
    sample = given[0] if given else Sample("size", {"size": [2]})
    sample.arguments["device"] = "cuda"
    with pytest.raises(RuntimeError, match="cuda"):
        run(row, sample, call_of(row))
