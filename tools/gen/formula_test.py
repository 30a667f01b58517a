"""Backward formulas: what is saved, and which C++ comes out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tools.gen.formula import Backward, compile_backward, compile_composite
from tools.gen.table import Row, load_table
from tools.gen.yaml_lines import TableError


def rows() -> dict[str, Row]:
    """The project's table."""
    return {r.name: r for r in load_table(sorted(Path("oneflow/functional/ops").glob("*.yaml")))}


def compiled(name: str, **backward: str) -> Backward:
    """A row's formulas, some of them replaced."""
    table = rows()
    table[name].backward.update(backward)
    return compile_backward(table[name], table)


def test_add_saves_metas_only() -> None:
    got = compiled("add")
    assert (got.save_inputs, got.save_outputs, got.save_metas) == (0, 0, 0b11)
    assert got.grad_inputs == 0b11


def test_mul_saves_both_operands() -> None:
    got = compiled("mul")
    assert (got.save_inputs, got.save_metas) == (0b11, 0b11)
    assert got.uses == [(0, 0b10, 0), (1, 0b01, 0)]  # each gradient needs the other operand only
    block = got.blocks[0]
    statements = block.statements
    assert (block.input, block.dys, block.result) == (0, [0], "t2")
    assert statements == [
        "const TensorPtr other = JUST(node.Input(1));",
        "const TensorPtr t1 = JUST(functional::mul(dy, other));",
        "const TensorPtr t2 = JUST(functional::sum_to_shape(t1, node.InputMeta(0).shape));",
    ]


def test_results_of_one_call_are_computed_once() -> None:
    call = "nll_loss_pair(dy, other, None, 0, 'sum')"
    got = compiled("mul", input=f"{call}[0]", other=f"{call}[1]")
    assert [(b.input, b.result, b.shared) for b in got.blocks] == [(0, "t1[0]", [(1, "t1[1]")])]
    assert len(got.blocks[0].statements) == 2
    got = compiled("mul", input=f"{call}[0]", other=f"{call.replace('sum', 'mean')}[1]")
    assert [b.input for b in got.blocks] == [0, 1]


def test_relu_saves_its_output() -> None:
    got = compiled("relu")
    assert (got.save_inputs, got.save_outputs) == (0, 0b1)
    assert got.uses == [(0, 0, 0b1)]


def test_nll_loss_saves_the_second_output_and_passes_attributes() -> None:
    got = compiled("nll_loss_pair")
    assert got.save_outputs == 0b10
    assert got.save_inputs == 0b111
    assert got.save_metas == 0b1
    assert got.uses_attrs
    assert any("AttrAsParam(attrs.reduction)" in line for line in got.blocks[0].statements)


def test_zero_computes_nothing() -> None:
    got = compiled("add", other="zero")
    assert got.grad_inputs == 0b01
    assert len(got.blocks) == 1


def test_literals_take_the_type_of_the_parameter() -> None:
    got = compiled("relu", input="scalar_mul(transpose(dy, -2, -1), 0.5)")
    assert got.blocks[0].statements == [
        "const TensorPtr t1 = JUST(functional::transpose(dy, -2, -1));",
        "const TensorPtr t2 = JUST(functional::scalar_mul(t1, Scalar(0.5)));",
    ]


def test_a_composite_is_an_expression_over_its_parameters() -> None:
    table = rows()
    statements, result = compile_composite(table["zeros_like"], table)
    assert result == "t1"
    assert statements == [
        "const TensorPtr t1 = JUST(functional::full_like(input, Scalar(0), dtype, device));"
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("mul(input, nothing)", "`nothing` is no parameter"),
        ("input.shape", "does not give"),
        ("mul(input, dtype)", "`other` of `mul` is of type Tensor"),
        ("input + 1", "is not allowed"),
        ("dtype.shape", "`dtype` is no tensor"),
    ],
)
def test_a_wrong_composite_says_where(text: str, reason: str) -> None:
    table = rows()
    row = replace(table["zeros_like"], composite=text)
    with pytest.raises(TableError, match=r"creation.yaml:\d+: op `zeros_like`: .*" + reason):
        compile_composite(row, table)
