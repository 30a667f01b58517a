"""Programs over the whole op table, as data: each step is a call of a row with one of its samples.

A step may take results of earlier steps, or views of them, in the place of a sample's operands.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import re
from typing import Any

import numpy as np
from tests.ops.operands import makers
from tests.ops.samples import Sample, dtypes_of, samples, table, value
from tests.vm.op_samples import OWN

from tools.gen.table import Row

# What a step does: calls its row, calls the row's in-place form, calls it with arguments that the
# row says are bad; takes gradients of an earlier result; makes a tensor that is never computed.
KINDS = ("call", "inplace", "bad", "backward", "throw")
# How a variable becomes an operand of the shape that the sample has there.
VIEWS = ("as it is", "part", "T", "expanded", "reshaped")
# Gives what happens to lie in memory; fail on purpose, which is a step of its own here.
_LEFT_OUT = re.compile(r"(new_)?empty|throw_error")
_PLAIN = re.compile(r"R\([\d, ]*\)(\.T)?")


@dataclasses.dataclass(frozen=True)
class Use:
    """A variable in the place of an operand."""

    operand: str
    variable: str
    view: str = "as it is"


@dataclasses.dataclass(frozen=True)
class Step:
    """One line of a program; `ins` and `outs` are names of variables, which are given once.

    Attributes:
        kind: one of KINDS
        row: name of the row; "" for backward and throw
        dtype: which samples
        index: which of the samples, or of the bad inputs
        uses: what is not taken from the sample
        outs: names for the results
        tracked: whether floats that the sample gives want a gradient
    """

    kind: str
    row: str = ""
    dtype: str = "float32"
    index: int = 0
    uses: tuple[Use, ...] = ()
    outs: tuple[str, ...] = ()
    tracked: bool = False

    @property
    def ins(self) -> tuple[str, ...]:
        return tuple(use.variable for use in self.uses)

    def source(self) -> str:
        """What a person reads."""
        given = [f"{u.operand} = {u.variable} {u.view}" for u in self.uses]
        what = f"{self.row} of {self.dtype}, sample {self.index}" if self.row else ""
        results = f"{', '.join(self.outs)} = " if self.outs else ""
        tracked = ["tracked"] if self.tracked else []
        return f"{results}{self.kind} {'; '.join([what, *given, *tracked])}"


OpProgram = list[Step]


def listing(program: OpProgram) -> str:
    """What a person reads."""
    return "\n".join(f"{i + 1:4}  {s.source()}" for i, s in enumerate(program))


def to_text(program: OpProgram) -> str:
    """What `from_text` reads."""
    return "[\n" + "".join(f"    {dataclasses.astuple(s)!r},\n" for s in program) + "]\n"


def from_text(text: str) -> OpProgram:
    """The program that `to_text` wrote."""
    steps = []
    for kind, row, dtype, index, uses, outs, tracked in ast.literal_eval(text):
        steps.append(Step(kind, row, dtype, index, tuple(Use(*u) for u in uses), outs, tracked))
    return steps


@functools.lru_cache(maxsize=1)
def rows() -> dict[str, Row]:
    """The rows that programs draw from: all that Python can call."""
    return {r.name: r for r in table() if r.places and not _LEFT_OUT.match(r.name)}


@functools.lru_cache(maxsize=256)
def samples_of(name: str, dtype: str) -> list[Sample]:
    """The samples of a row: the table's, else those of op_samples.py."""
    row = rows()[name]
    if name in OWN:
        env = makers(dtype, 0)
        own = [{n: value(row, n, v, dtype, env) for n, v in given.items()} for given in OWN[name]]
        return [Sample("own", given) for given in own]
    silent = row.strategy == "none" and not row.samples
    assert not silent or not any(p.required for p in row.signature.params), (
        f"{name} has no samples; give it some in op_samples.py"
    )
    return samples(row, dtype)


def dtypes(row: Row) -> list[str]:
    """The dtypes that a row is sampled with."""
    return ["float32", "float64"] if row.name in OWN else dtypes_of(row)


def writes(row: Row) -> bool:
    """Whether a plain call writes an operand."""
    return row.inplace_only or row.python_name.endswith("_")


def replaceable(row: Row, sample: Sample) -> list[str]:
    """The operands that other numbers may stand for: those that the row only asks a dtype of."""
    plain: list[str] = []
    if row.name.startswith("as_strided"):
        return plain  # takes the memory as it lies, which numpy has otherwise
    for name, operand in sample.operands.items():
        listed = OWN.get(row.name, row.samples)
        texts = [given[name] for given in listed if name in given]
        if operand.base.dtype.kind == "f" and all(
            isinstance(text, str) and _PLAIN.fullmatch(text) for text in texts
        ):
            plain.append(name)
    return plain


def shaped(value: Any, view: str, shape: tuple[int, ...]) -> Any:
    """A tensor, or an array of numpy, as an operand."""
    array = isinstance(value, np.ndarray)
    if view == "part":
        return value[tuple(slice(0, n) for n in shape)] if shape else value
    if view == "T":
        return value.T if array else value.t()
    if view == "expanded":
        return np.broadcast_to(value, shape) if array else value.expand(*shape)
    if view == "reshaped":
        return value.reshape(shape) if array else value.view(*shape)
    return value
