"""Backward formulas: a Python-syntax expression in, statements of C++ out.

    sum_to_shape(scalar_mul(dy, alpha), other.shape)

A name is `dy` (gradient of output 0; `dy1`, ... of the others), an operand of the row (it is saved
for backward), `out` or `out1`, ... (a saved output), an attribute field, or a parameter that fills
one as it is. `x.shape`, `x.dtype` and `x.device` of an operand save its meta only. A call calls an
op of the table; `f(x)[1]` takes one of several results. `zero` alone says that the gradient is
zero; nothing is computed for it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tools.gen.signature import Param, cpp_value
from tools.gen.table import Row, TableError

_META = ("shape", "dtype", "device")


@dataclass
class Backward:
    """What a row's formulas need, and the body of its backward function."""

    save_inputs: int = 0
    save_outputs: int = 0
    save_metas: int = 0
    grad_inputs: int = 0
    uses_attrs: bool = False
    blocks: list[tuple[int, int, list[str], str]] = field(default_factory=list)
    """For each gradient: its input, the output whose gradient it uses, statements, the result."""


@dataclass
class _Value:
    cpp: str
    kind: str  # tensor, tuple, value, or literal (then `literal` is a Python value)
    literal: Any = None


def compile_backward(row: Row, rows: Mapping[str, Row]) -> Backward:
    """Translates all formulas of a row. TableError where one makes no sense."""
    out = Backward()
    for name, text in row.backward.items():
        if text.strip() == "zero":
            continue
        index = row.signature.input_index(name)
        compiler = _Compiler(row, rows, out, name)
        value = compiler.visit(ast.parse(text, mode="eval").body)
        if value.kind != "tensor":
            raise compiler.error(f"`{text}` is no tensor")
        if len(compiler.dys) > 1:
            raise compiler.error("a formula may use the gradient of one output only")
        out.grad_inputs |= 1 << index
        dy = compiler.dys.pop() if compiler.dys else 0
        out.blocks.append((index, dy, compiler.statements, value.cpp))
    return out


class _Compiler:
    def __init__(self, row: Row, rows: Mapping[str, Row], out: Backward, input_name: str) -> None:
        self.row, self.rows, self.out, self.input_name = row, rows, out, input_name
        self.statements: list[str] = []
        self.loaded: set[str] = set()
        self.dys: set[int] = set()
        self.temporaries = 0

    def error(self, message: str) -> TableError:
        backward = self.row.source["backward"]
        where = backward.where(self.input_name)
        return TableError(
            where, f"op `{self.row.name}`, gradient of `{self.input_name}`: {message}"
        )

    def visit(self, node: ast.expr) -> _Value:
        if isinstance(node, ast.Name):
            return self.name(node.id)
        if isinstance(node, ast.Attribute):
            return self.attribute(node)
        if isinstance(node, ast.Call):
            return self.call(node)
        if isinstance(node, ast.Subscript):
            return self.subscript(node)
        try:
            return _Value("", "literal", ast.literal_eval(node))
        except ValueError as error:
            raise self.error(f"`{ast.unparse(node)}` is not allowed in a formula") from error

    def name(self, name: str) -> _Value:
        gradient = re.fullmatch(r"dy(\d?)", name)
        if gradient:
            return self.output_gradient(name, int(gradient[1] or 0))
        index = self.row.signature.input_index(name)
        if index >= 0:
            self.out.save_inputs |= 1 << index
            return self.load(name, f"node.Input({index})")
        output = re.fullmatch(r"out(\d?)", name)
        if output:
            number = self.check_output(int(output[1] or 0))
            self.out.save_outputs |= 1 << number
            return self.load(name, f"node.Output({number})")
        return self.attribute_field(name)

    def output_gradient(self, name: str, number: int) -> _Value:
        self.dys.add(self.check_output(number))
        return _Value("dy", "tensor")

    def check_output(self, number: int) -> int:
        if number >= self.row.signature.outputs:
            raise self.error(f"there is no output {number}")
        return number

    def load(self, name: str, call: str) -> _Value:
        if name not in self.loaded:
            self.loaded.add(name)
            self.statements.append(f"const TensorPtr {name} = JUST({call});")
        return _Value(name, "tensor")

    def attribute_field(self, name: str) -> _Value:
        for path, source in self.row.attr_fields.items():
            if path.rpartition(".")[2] == name or source == name:
                self.out.uses_attrs = True
                return _Value(f"AttrAsParam(attrs.{path})", "value")
        raise self.error(f"`{name}` is no operand, output or attribute")

    def attribute(self, node: ast.Attribute) -> _Value:
        owner = node.value
        if not isinstance(owner, ast.Name) or node.attr not in _META:
            raise self.error(f"`{ast.unparse(node)}`: only {', '.join(_META)} of a name are known")
        index = self.row.signature.input_index(owner.id)
        if index >= 0:
            self.out.save_metas |= 1 << index
            return _Value(f"node.InputMeta({index}).{node.attr}", "value")
        if re.fullmatch(r"dy\d?", owner.id):
            return _Value(f"{self.name(owner.id).cpp}->{node.attr}()", "value")
        raise self.error(f"`{ast.unparse(node)}`: `{owner.id}` is no operand; use dy.{node.attr}")

    def subscript(self, node: ast.Subscript) -> _Value:
        value = self.visit(node.value)
        index = ast.literal_eval(node.slice)
        if value.kind != "tuple" or not isinstance(index, int):
            raise self.error(f"`{ast.unparse(node)}` expects a result of several tensors")
        return _Value(f"{value.cpp}[{index}]", "tensor")

    def call(self, node: ast.Call) -> _Value:
        callee = self.rows.get(node.func.id) if isinstance(node.func, ast.Name) else None
        if callee is None:
            raise self.error(f"`{ast.unparse(node.func)}` is no op of the table")
        given = self.arguments(node, callee)
        words = [self.argument(p, given.get(p.name), callee) for p in callee.signature.params]
        self.temporaries += 1
        temporary = f"t{self.temporaries}"
        single = callee.signature.outputs == 1
        kind = "TensorPtr" if single else "TensorTuple"
        self.statements.append(
            f"const {kind} {temporary} = JUST(functional::{callee.name}({', '.join(words)}));"
        )
        return _Value(temporary, "tensor" if single else "tuple")

    def arguments(self, node: ast.Call, callee: Row) -> dict[str, _Value]:
        positional = [p for p in callee.signature.params if not p.keyword_only]
        if len(node.args) > len(positional):
            raise self.error(f"too many arguments for `{callee.signature.text(callee.name)}`")
        given = {p.name: self.visit(a) for p, a in zip(positional, node.args, strict=False)}
        for keyword in node.keywords:
            if keyword.arg is None or callee.signature.param(keyword.arg) is None:
                raise self.error(f"`{callee.name}` has no parameter `{keyword.arg}`")
            given[keyword.arg] = self.visit(keyword.value)
        return given

    def argument(self, param: Param, value: _Value | None, callee: Row) -> str:
        if value is None:
            if param.required:
                raise self.error(f"`{callee.name}` needs `{param.name}`")
            return param.cpp_default()
        if value.kind == "literal":
            return cpp_value(param.type, value.literal)
        if param.is_tensor != (value.kind in ("tensor", "tuple")):
            raise self.error(f"`{param.name}` of `{callee.name}` is of type {param.type}")
        return value.cpp
