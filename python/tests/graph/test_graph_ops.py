"""Every row of the op table, in a graph and eagerly: results, gradients, in-place forms."""

from __future__ import annotations

from typing import Any

import pytest
from tests.graph.graphs import FunctionGraph, assert_close, assert_equal
from tests.ops.checker import arguments, differentiable, function_of
from tests.ops.samples import Sample, dtypes_of, each, samples, table
from tests.support import must_fail

import oneflow as flow
from tools.gen.table import Row

ROWS = [
    row
    for row in table()
    if row.places and not row.syncs and row.numpy and not row.name.startswith("throw_error")
]
SYNCING = [row for row in table() if row.places and row.syncs]
SAMPLES = 5  # of each row and dtype
# They look at values of some of their arguments (a mask, a list of lengths): a graph has none.
LOOKS = {"index_put"}


def chosen(row: Row) -> list[tuple[str, Sample]]:
    """A few small samples in each of two dtypes."""
    found = []
    for dtype in dtypes_of(row)[:2]:
        small = [s for s in samples(row, dtype) if not s.large]
        step = max(1, len(small) // SAMPLES)
        found += [(dtype, sample) for sample in small[::step][:SAMPLES]]
    return found


def operands(sample: Sample, names: list[str]) -> dict[str, Any]:
    """New tensors; those that are named are leaves that require gradients."""
    made = {}
    for name, operand in sample.operands.items():
        tensor = operand.tensor(operand.leaf()).detach()
        made[name] = tensor.requires_grad_() if name in names else tensor
    return made


def program(row: Row, sample: Sample, inplace: bool) -> Any:
    """The op as a function of a dict of its tensors, and the gradients of its first result."""
    call = function_of(row, inplace)

    def run(tensors: dict[str, Any]) -> Any:
        given = {n: t * 1 if inplace and not t.is_leaf else t for n, t in tensors.items()}
        positional, keywords = arguments(row, sample, given)
        result = call(*positional, **keywords)
        results = list(result) if isinstance(result, (tuple, list)) else [result]
        wanting = [t for t in tensors.values() if t.requires_grad]
        first = results[0]
        if not wanting or not isinstance(first, flow.Tensor) or not first.requires_grad:
            return results
        gradients = flow.autograd.grad((first * first).sum(), wanting, allow_unused=True)
        return [*(r.detach() for r in results), *(g for g in gradients if g is not None)]

    return run


def check_row(row: Row, inplace: bool) -> int:
    """How many samples were compared; those that eager refuses must be refused in a graph, too."""
    compared = 0
    for dtype, sample in chosen(row):
        names = differentiable(row, sample) if dtype.startswith("float") and not inplace else []
        run = program(row, sample, inplace)
        what = f"{row.name} on {sample.label} in {dtype}"
        try:
            want = run(operands(sample, names))
        except (RuntimeError, ValueError, IndexError, TypeError, NotImplementedError) as error:
            with pytest.raises(type(error)):
                FunctionGraph(run)(operands(sample, names))
            continue
        plain, full = FunctionGraph(run, passes=False), FunctionGraph(run)
        given = operands(sample, names)
        if row.name in LOOKS:
            try:
                plain(given)
            except RuntimeError as error:
                assert "being built" in str(error), what
                continue
        for _ in range(2):
            assert_equal(plain(given), want, what)
        assert_close(full(given), want, what)
        plain.close()
        full.close()
        compared += 1
    return compared


@each("row", ROWS)
def test_in_a_graph(row: Row) -> None:
    if not row.inplace_only:
        assert check_row(row, inplace=False) > 0
    if row.inplace_name:
        check_row(row, inplace=True)


@each("row", SYNCING)
def test_data_dependent_shapes_are_refused(row: Row) -> None:
    """Some arguments say the shape (one_hot's number of classes): then it is an op like others."""
    refused = 0
    for dtype, sample in chosen(row):
        run = program(row, sample, inplace=False)
        try:
            got = FunctionGraph(run)(operands(sample, []))
        except RuntimeError as error:
            refused += 1
            assert "being built" in str(error) or "depends on data" in str(error)
            continue
        assert_equal(got, run(operands(sample, [])), f"{row.name} on {sample.label} in {dtype}")
    assert refused > 0


def test_control() -> None:
    graph = FunctionGraph(lambda d: d["x"] + 1e-5)
    must_fail(lambda: assert_equal(graph({"x": flow.ones(2)}), flow.ones(2)))
