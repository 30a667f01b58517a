"""Programs over tensors, as data: made at random, run, interpreted, cut down and printed."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterable
from typing import Any, Protocol, TypeVar


@dataclasses.dataclass(frozen=True)
class Kind:
    """What a statement does.

    `source` names its operands {a} and {b}, its results {o} and {p}, and its attributes.
    """

    source: str
    makes: str = (
        "tensor"  # tensor, view, array, both (a tensor and an array of its memory), nothing
    )
    in_place: bool = False  # writes the memory of {a}
    reads_target: bool = True
    fails: bool = False


def _new(source: str, **more: Any) -> Kind:
    return Kind("{o} = " + source, **more)


def _inplace(source: str, reads_target: bool = True, **more: Any) -> Kind:
    return Kind(source, makes="nothing", in_place=True, reads_target=reads_target, **more)


KINDS: dict[str, Kind] = {
    # New memory.
    "full": _new("flow.full({shape}, {value}, dtype=flow.{dtype})"),
    "randn": _new("flow.randn(*{shape})"),
    "tensor": _new("flow.tensor({a})"),
    "from_numpy": _new("flow.from_numpy({a})"),
    "empty": Kind(
        "{o} = flow.empty({shape}, dtype=flow.{dtype}); {p} = {o}.numpy(); {p}[...] = {value}",
        makes="both",
    ),
    # Arrays of numpy, and what it does to memory that tensors share.
    "array": _new("np.arange({n}, dtype=np.{dtype}).reshape({shape}) - {value}", makes="array"),
    "numpy": _new("{a}.numpy()", makes="array"),
    "poke": Kind("{a}[{index}] = {value}", makes="nothing"),
    # Elementwise, exact to the bit.
    "add": _new("{a} + {b}"),
    "sub": _new("{a} - {b}"),
    "mul": _new("{a} * {b}"),
    "div": _new("{a} / {b}"),
    "add_number": _new("{a} + {value}"),
    "sub_from": _new("{value} - {a}"),
    "mul_number": _new("{a} * {value}"),
    "div_number": _new("{a} / {value}"),
    "neg": _new("-{a}"),
    "relu": _new("{a}.relu()"),
    "square": _new("{a}.square()"),
    "abs": _new("{a}.abs()"),
    "sign": _new("{a}.sign()"),
    "floor": _new("{a}.floor()"),
    "clone": _new("{a}.clone()"),
    "eq": _new("{a}.eq({b})"),
    "lt": _new("{a} < {b}"),
    "maximum": _new("flow.maximum({a}, {b})"),
    "minimum": _new("flow.minimum({a}, {b})"),
    "cast": _new("{a}.to(flow.{dtype})"),
    "take_rows": _new("{a}[{indices}]"),
    # Over many elements: exact where the values are small whole numbers.
    "sum": _new("{a}.sum()"),
    "sum_dim": _new("{a}.sum({dim}, keepdim={keepdim})"),
    "argmax": _new("{a}.argmax({dim})"),
    "matmul": _new("{a} @ {b}"),
    # Not exact: only compared between ways to run.
    "tanh": _new("{a}.tanh()"),
    "sigmoid": _new("{a}.sigmoid()"),
    "exp": _new("{a}.exp()"),
    "mean": _new("{a}.mean({dim})"),
    "log_softmax": _new("{a}.log_softmax({dim})"),
    # Views.
    "narrow": _new("{a}.narrow({dim}, {start}, {length})", makes="view"),
    "slice": _new("{a}[{start}:{stop}:{step}]", makes="view"),
    "select": _new("{a}.select({dim}, {start})", makes="view"),
    "transpose": _new("{a}.transpose({dim}, {other})", makes="view"),
    "view": _new("{a}.view({shape})", makes="view"),
    "unsqueeze": _new("{a}.unsqueeze({dim})", makes="view"),
    "expand": _new("{a}.expand({shape})", makes="view"),
    # In place.
    "add_": _inplace("{a}.add_({b})"),
    "sub_": _inplace("{a} -= {b}"),
    "mul_": _inplace("{a} *= {b}"),
    "add_number_": _inplace("{a}.add_({value})"),
    "mul_number_": _inplace("{a}.mul_({value})"),
    "clamp_": _inplace("{a}.clamp_(max={value})"),
    "relu_": _inplace("flow._C.relu_({a})"),
    "fill_": _inplace("{a}.fill_({value})", reads_target=False),
    "zero_": _inplace("{a}.zero_()", reads_target=False),
    "copy_": _inplace("{a}.copy_({b})", reads_target=False),
    "copy_array_": _inplace("{a}.copy_(flow.tensor({b}))", reads_target=False),
    "set_slice": _inplace("{a}[{start}:{stop}] = {value}", reads_target=False),
    "set_slice_to": _inplace("{a}[{start}:{stop}] = {b}", reads_target=False),
    "set_rows": _inplace("{a}[{indices}] = {value}"),
    "set_rows_to": _inplace("{a}[{indices}] = {b}"),
    # Failures.
    "throw": _new("flow._C.throw_error({a}, {delay})", fails=True),
    "throw_": _inplace("flow._C.throw_error_({a}, {delay})", fails=True),
    "nll_loss": _new("flow._C.nll_loss({a}, flow.tensor({targets}))", fails=True),
    # Looking.
    "read": Kind("got = np.array({a}, dtype=np.{dtype})", makes="nothing"),
    "item": Kind("got = {a}[{index}].item()", makes="nothing"),
    "look": Kind("got = np.array({a})", makes="nothing"),  # at numpy's array, without a wait
    "sync": Kind("flow._oneflow_internal.sync()", makes="nothing"),
    "del": Kind("del {a}", makes="nothing"),
    # Between threads.
    "send": Kind("send({a}); del {a}", makes="nothing"),
    "receive": _new("receive()", makes="view"),
}


@dataclasses.dataclass(frozen=True)
class Statement:
    """One line of a program. `ins` and `outs` are names of variables, which are given once."""

    kind: str
    outs: tuple[str, ...] = ()
    ins: tuple[str, ...] = ()
    attrs: tuple[tuple[str, Any], ...] = ()

    def source(self) -> str:
        names = dict(zip(("a", "b"), self.ins))
        names.update(zip(("o", "p"), self.outs))
        return KINDS[self.kind].source.format(**names, **{k: str(v) for k, v in self.attrs})

    def attr(self, name: str) -> Any:
        return dict(self.attrs)[name]


Program = list[Statement]


def listing(program: Program) -> str:
    """What a person reads."""
    return "\n".join(f"{i + 1:4}  {s.source()}" for i, s in enumerate(program))


def to_text(program: Program) -> str:
    """What `from_text` reads."""
    rows = [(s.kind, s.outs, s.ins, s.attrs) for s in program]
    return "[\n" + "".join(f"    {row!r},\n" for row in rows) + "]\n"


def from_text(text: str) -> Program:
    return [Statement(*row) for row in ast.literal_eval(text)]


class Line(Protocol):
    """What is known of a line of any kind of program."""

    @property
    def kind(self) -> str: ...

    @property
    def outs(self) -> tuple[str, ...]: ...

    @property
    def ins(self) -> tuple[str, ...]: ...


AnyLine = TypeVar("AnyLine", bound=Line)


def without_orphans(program: Iterable[AnyLine], given: Iterable[str] = ()) -> list[AnyLine]:
    """The statements whose operands exist at their place."""
    known = set(given)
    kept = []
    for statement in program:
        if not known.issuperset(statement.ins):
            continue
        known.update(statement.outs)
        if statement.kind in ("del", "send"):
            known.difference_update(statement.ins)
        kept.append(statement)
    return kept
