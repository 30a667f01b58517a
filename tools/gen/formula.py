"""Formulas of the op table: a Python-syntax expression in, statements of C++ out.

A backward formula, such as

    sum_to_shape(scalar_mul(dy, alpha), other.shape)

has these names: `dy` (gradient of output 0; `dy1`, ... of the others), an operand of the row (it is
saved for backward), `out` or `out1`, ... (a saved output), an attribute field, or a parameter that
fills one as it is. `x.shape`, `x.dtype` and `x.device` of an operand save its meta only. A call
calls an op of the table; `f(x)[1]` takes one of several results. `zero` alone says that the
gradient is zero; nothing is computed for it.

The expression of a composite row, `mul(input, input)`, is written alike; its names are the row's
parameters.
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
class Gradient:
    """One gradient: its input, the outputs whose gradients it uses, statements, the result."""

    input: int
    dys: list[int]
    statements: list[str]
    result: str
    is_list: bool
    shared: list[tuple[int, str]] = field(default_factory=list)
    """Further inputs whose gradients are other results of the same call, and those results."""

    def shares_with(self, other: Gradient) -> bool:
        """Whether both take results of one computation: `f(dy)[0]` and `f(dy)[1]`."""
        lists = self.is_list or other.is_list
        return not lists and (self.dys, self.statements) == (other.dys, other.statements)


def gradient_name(output: int) -> str:
    """How a formula calls the gradient of an output."""
    return f"dy{output}" if output else "dy"


@dataclass
class Backward:
    """What a row's formulas need, and the body of its backward function."""

    save_inputs: int = 0
    save_outputs: int = 0
    save_metas: int = 0
    grad_inputs: int = 0
    uses_attrs: bool = False
    blocks: list[Gradient] = field(default_factory=list)
    uses: list[tuple[int, int, int]] = field(default_factory=list)
    """For each gradient: its input, and masks of the inputs and outputs that it needs saved."""


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
        compiler = _Backward(row, rows, out, name)
        saved = out.save_inputs, out.save_outputs
        out.save_inputs = out.save_outputs = 0
        value = compiler.visit(ast.parse(text, mode="eval").body)
        is_list = row.signature.tensors[index].type == "Tensor[]"
        if value.kind != ("tuple" if is_list else "tensor"):
            raise compiler.error(f"`{text}` is no {'Tensor[]' if is_list else 'tensor'}")
        dys = sorted(compiler.dys) or [0]
        if len(dys) > 1 and compiler.required_dys:
            raise compiler.error(
                "of several outputs each gradient may be missing: it can only go where a Tensor? is"
            )
        out.grad_inputs |= 1 << index
        out.uses.append((index, out.save_inputs, out.save_outputs))
        out.save_inputs |= saved[0]
        out.save_outputs |= saved[1]
        _append(out.blocks, Gradient(index, dys, compiler.statements, value.cpp, is_list))
    return out


def _append(blocks: list[Gradient], block: Gradient) -> None:
    """Adds a gradient, to an earlier one if both come out of one call."""
    for earlier in blocks:
        if block.statements and earlier.shares_with(block):
            earlier.shared.append((block.input, block.result))
            return
    blocks.append(block)


def compile_composite(row: Row, rows: Mapping[str, Row]) -> tuple[list[str], str]:
    """Translates a composite row's expression: statements, and the result."""
    compiler = _Composite(row, rows)
    value = compiler.visit(ast.parse(row.composite, mode="eval").body)
    if value.kind != ("tensor" if row.signature.outputs == 1 else "tuple"):
        raise compiler.error(f"`{row.composite}` does not give what the signature says")
    return compiler.statements, value.cpp


class _Compiler:
    """Emits one expression; a subclass says what names and attributes mean."""

    def __init__(self, row: Row, rows: Mapping[str, Row]) -> None:
        self.row, self.rows = row, rows
        self.statements: list[str] = []
        self.temporaries = 0

    def error(self, message: str) -> TableError:
        """An error that says where the expression stands."""
        raise NotImplementedError

    def name(self, name: str) -> _Value:
        """What a name stands for."""
        raise NotImplementedError

    def meta(self, owner: str, field: str) -> _Value:
        """What `owner.shape` and the like stand for."""
        raise NotImplementedError

    def visit(self, node: ast.expr) -> _Value:
        """Emits the statements of a node; returns its value."""
        if isinstance(node, ast.Name):
            return self.name(node.id)
        if isinstance(node, ast.Attribute):
            if not isinstance(node.value, ast.Name) or node.attr not in _META:
                known = ", ".join(_META)
                raise self.error(f"`{ast.unparse(node)}`: only {known} of a name are known")
            return self.meta(node.value.id, node.attr)
        if isinstance(node, ast.Call):
            return self.call(node)
        if isinstance(node, ast.Subscript):
            return self.subscript(node)
        try:
            return _Value("", "literal", ast.literal_eval(node))
        except ValueError as error:
            raise self.error(f"`{ast.unparse(node)}` is not allowed in a formula") from error

    def subscript(self, node: ast.Subscript) -> _Value:
        """One of several results."""
        value = self.visit(node.value)
        index = ast.literal_eval(node.slice)
        if value.kind != "tuple" or not isinstance(index, int):
            raise self.error(f"`{ast.unparse(node)}` expects a result of several tensors")
        return _Value(f"{value.cpp}[{index}]", "tensor")

    def call(self, node: ast.Call) -> _Value:
        callee = self.rows.get(node.func.id) if isinstance(node.func, ast.Name) else None
        if callee is None:
            raise self.error(f"`{ast.unparse(node.func)}` is no op of the table")
        if callee.signature.choice:
            raise self.error(f"`{callee.name}` returns one tensor or several; call another op")
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


class _Backward(_Compiler):
    """A gradient's formula: names are what the node saved."""

    def __init__(self, row: Row, rows: Mapping[str, Row], out: Backward, input_name: str) -> None:
        super().__init__(row, rows)
        self.out, self.input_name = out, input_name
        self.loaded: set[str] = set()
        self.dys: set[int] = set()
        self.required_dys = False  # one was given for an operand that must be there

    def error(self, message: str) -> TableError:
        backward = self.row.source["backward"]
        where = backward.where(self.input_name)
        return TableError(
            where, f"op `{self.row.name}`, gradient of `{self.input_name}`: {message}"
        )

    def name(self, name: str) -> _Value:
        gradient = re.fullmatch(r"dy(\d?)", name)
        if gradient:
            return self.output_gradient(name, int(gradient[1] or 0))
        index = self.row.signature.input_index(name)
        if index >= 0:
            self.out.save_inputs |= 1 << index
            if self.row.signature.tensors[index].type == "Tensor[]":
                return self.load(name, f"node.InputsFrom({index})", "TensorTuple")
            return self.load(name, f"node.Input({index})")
        output = re.fullmatch(r"out(\d?)", name)
        if output:
            number = self.check_output(int(output[1] or 0))
            self.out.save_outputs |= 1 << number
            return self.load(name, f"node.Output({number})")
        return self.attribute_field(name)

    def output_gradient(self, name: str, number: int) -> _Value:
        self.dys.add(self.check_output(number))
        return _Value(gradient_name(number), "tensor")

    def argument(self, param: Param, value: _Value | None, callee: Row) -> str:
        """As for any expression; also notes gradients that must have arrived."""
        given = value is not None and re.fullmatch(r"dy\d?", value.cpp) is not None
        self.required_dys |= given and param.type != "Tensor?"
        return super().argument(param, value, callee)

    def check_output(self, number: int) -> int:
        if number >= self.row.signature.outputs:
            raise self.error(f"there is no output {number}")
        return number

    def load(self, name: str, call: str, kind: str = "TensorPtr") -> _Value:
        if name not in self.loaded:
            self.loaded.add(name)
            self.statements.append(f"const {kind} {name} = JUST({call});")
        return _Value(name, "tensor" if kind == "TensorPtr" else "tuple")

    def attribute_field(self, name: str) -> _Value:
        for path, source in self.row.attr_fields.items():
            if path.rpartition(".")[2] == name or source == name:
                self.out.uses_attrs = True
                return _Value(f"AttrAsParam(attrs.{path})", "value")
        raise self.error(f"`{name}` is no operand, output or attribute")

    def meta(self, owner: str, field: str) -> _Value:
        index = self.row.signature.input_index(owner)
        if index >= 0:
            self.out.save_metas |= 1 << index
            if self.row.signature.tensors[index].type == "Tensor[]":
                if field != "shape":
                    raise self.error(f"`{owner}.{field}`: of a list only `shape`, a list, is known")
                return _Value(f"node.InputShapes({index})", "value")
            return _Value(f"node.InputMeta({index}).{field}", "value")
        if re.fullmatch(r"dy\d?", owner):
            return _Value(f"{self.name(owner).cpp}->{field}()", "value")
        raise self.error(f"`{owner}.{field}`: `{owner}` is no operand; use dy.{field}")


class _Composite(_Compiler):
    """A composite row's expression: names are its parameters."""

    def error(self, message: str) -> TableError:
        return self.row.error("composite", message)

    def name(self, name: str) -> _Value:
        param = self.row.signature.param(name)
        if param is None:
            raise self.error(f"`{name}` is no parameter")
        kinds = {"Tensor": "tensor", "Tensor?": "tensor", "Tensor[]": "tuple"}
        return _Value(name, kinds.get(param.type, "value"))

    def meta(self, owner: str, field: str) -> _Value:
        value = self.name(owner)
        if value.kind != "tensor":
            raise self.error(f"`{owner}.{field}`: `{owner}` is no tensor")
        return _Value(f"{value.cpp}->{field}()", "value")
