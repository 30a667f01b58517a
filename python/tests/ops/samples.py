"""The samples of a row: what its strategy gives, and what the row adds."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.ops.operands import Operand, makers, numpy_dtype

from tools.gen.signature import DTYPES
from tools.gen.table import Row, load_table

# Enough elements for several threads.
LARGE = (211, 701)


@dataclass
class Sample:
    """Arguments of one call by parameter; a tensor is an Operand."""

    label: str
    arguments: dict[str, Any]

    @property
    def operands(self) -> dict[str, Operand]:
        """All operands by name; those of a list are called `name[0]`, `name[1]`, ..."""
        out: dict[str, Operand] = {}
        for name, given in self.arguments.items():
            if isinstance(given, Operand):
                out[name] = given
            elif is_list(given):
                out.update({f"{name}[{i}]": operand for i, operand in enumerate(given)})
        return out

    def with_operands(self, made: dict[str, Any]) -> dict[str, Any]:
        """The arguments, with `made[name]` in the place of the operand of that name."""
        out = {name: made.get(name, given) for name, given in self.arguments.items()}
        for name, given in self.arguments.items():
            if is_list(given):
                out[name] = [made[f"{name}[{i}]"] for i in range(len(given))]
        return out

    @property
    def large(self) -> bool:
        """Whether it is too big for finite differences."""
        return any(v.base.size > 64 for v in self.operands.values())

    @property
    def finite(self) -> bool:
        """Whether no operand holds NaN or infinity."""
        return all(bool(np.isfinite(v.base).all()) for v in self.operands.values())


def is_list(given: Any) -> bool:
    """Whether an argument is a list of operands."""
    return isinstance(given, list) and bool(given) and isinstance(given[0], Operand)


def each(names: str | tuple[str, ...], cases: list[Any]) -> Callable[[Any], Any]:
    """pytest's parametrize by rows; no test at all where this process has no such row."""
    if not cases:
        return lambda function: None
    return pytest.mark.parametrize(names, cases, ids=_name_of)


def _name_of(value: object) -> str:
    return value.name if isinstance(value, Row) else str(value)


def table() -> list[Row]:
    """The op table: all of it, or what this process is to test.

    OP_TABLE_FAMILY names one family; OP_TABLE_SHARE, as in `1/3`, takes each third row from the
    second on.
    """
    rows = load_table(sorted(Path("oneflow/functional/ops").glob("*.yaml")))
    family = os.environ.get("OP_TABLE_FAMILY")
    if family:
        rows = [row for row in rows if Path(row.source.file).stem == family]
        assert rows, f"there is no family {family}"
    first, _, step = os.environ.get("OP_TABLE_SHARE", "0/1").partition("/")
    return rows[int(first) :: int(step)]


def _elementwise(env: dict[str, Any], count: int) -> Iterator[tuple[str, list[np.ndarray]]]:
    random, special = env["R"], env["special"]
    for shape in [(), (5,), (2, 3), (2, 3, 4), (0,), (3, 0, 2), (1, 1), (2, 1, 2, 1, 3)]:
        yield f"{shape}", [random(*shape) for _ in range(count)]
    yield "transposed", [random(4, 3).T for _ in range(count)]
    yield "mixed layouts", [random(4, 3).T if i % 2 else random(3, 4) for i in range(count)]
    yield "overlapping", [np.broadcast_to(random(3, 1), (3, 4)) for _ in range(count)]
    yield "large", [random(*LARGE) for _ in range(count)]
    yield "large transposed", [random(*LARGE).T for _ in range(count)]
    yield "special", [special(70) for _ in range(count)]


def _broadcast(env: dict[str, Any], count: int) -> Iterator[tuple[str, list[np.ndarray]]]:
    yield from _elementwise(env, count)
    random, special = env["R"], env["special"]
    for first, second in [
        ((2, 3), (3,)),
        ((3,), (2, 3)),
        ((2, 1, 4), (3, 1)),
        ((), (2, 3)),
        ((2, 3), ()),
        ((0, 3), (3,)),
        ((1,), (0,)),
        ((2, 1), (1, 3)),
    ]:
        yield f"{first} {second}", [random(*first), random(*second)]
    yield "large rows", [random(*LARGE), random(LARGE[1])]
    yield "large columns", [random(*LARGE), random(LARGE[0], 1)]
    yield "special pairs", [special(7, 1), special(1, 7)]


def _reduce(env: dict[str, Any], row: Row) -> Iterator[tuple[str, dict[str, Any]]]:
    random = env["R"]
    inputs = {
        "dense": random(2, 3, 4),
        "transposed": random(2, 3, 4).transpose(2, 0, 1),
        "overlapping": np.broadcast_to(random(2, 1, 4), (2, 3, 4)),
    }
    for name, array in inputs.items():
        for dim in (None, 0, 1, -1, [0, 2], [0, 1, 2], []):
            for keepdim in (False, True):
                yield f"{name} {dim}", {"input": array, "dim": dim, "keepdim": keepdim}
    yield "number", {"input": random()}
    yield "empty", {"input": random(0, 3), "dim": 1}
    if row.strategy == "reduce":  # reduce_some: of nothing there is no result
        yield "nothing", {"input": random(2, 0), "dim": 1}
    for dim in (None, 0, 1):
        yield f"large {dim}", {"input": random(*LARGE), "dim": dim}
        yield f"large transposed {dim}", {"input": random(*LARGE).T, "dim": dim}
    yield "special", {"input": env["special"](7, 3), "dim": 1}


def samples(row: Row, dtype: str, seed: int = 0) -> list[Sample]:
    """All samples of a row for one dtype."""
    env = makers(dtype, seed, row.sample_range)
    own: list[dict[str, Any]] = list(row.samples) or [{}]
    found: list[Sample] = []
    tensors = [p.name for p in row.signature.tensors if p.type == "Tensor"]
    if row.strategy.startswith("reduce"):
        return [
            _sample(row, f"{label} {dict(extra) or ''}", {**given, **extra}, dtype, env)
            for extra in own
            for label, given in _reduce(env, row)
        ]
    for extra in own:
        missing = [name for name in tensors if name not in extra]
        if row.strategy == "none" or not missing:
            found.append(_sample(row, str(dict(extra)), dict(extra), dtype, env))
            continue
        strategy = _broadcast if row.strategy == "broadcast" else _elementwise
        for label, arrays in strategy(env, len(missing)):
            given = {**extra, **dict(zip(missing, arrays))}
            found.append(_sample(row, f"{label} {dict(extra) or ''}", given, dtype, env))
    return found


def _sample(row: Row, label: str, given: dict[str, Any], dtype: str, env: dict[str, Any]) -> Sample:
    return Sample(label, {name: value(row, name, v, dtype, env) for name, v in given.items()})


def value(row: Row, name: str, given: Any, dtype: str, env: dict[str, Any]) -> Any:
    """One argument: a sample's text becomes an operand where the parameter is a tensor."""
    param = row.signature.param(name)
    assert param is not None
    if isinstance(given, np.ndarray):
        return Operand.of(given, dtype)
    if param.type == "Tensor[]":
        return [value(row, name, eval(g, dict(env)), dtype, env) for g in given]
    if param.is_tensor and isinstance(given, str):
        return Operand.of(np.asarray(eval(given, dict(env))), dtype)
    if param.type.startswith("dtype") and isinstance(given, str):
        return numpy_dtype(dtype if given == "dtype" else given)
    return given


def dtypes_of(row: Row) -> list[str]:
    """The dtypes that a row is tested with."""
    return [d for d in DTYPES if d in row.sample_dtypes]
