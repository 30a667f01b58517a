"""Makes programs at random, with the interpreter beside, so that statements fit what is there."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
from tests.vm.interpreter import Interpreter, Variable
from tests.vm.program import KINDS, Program, Statement

DTYPES = ("float32", "float32", "float32", "float64", "int32", "int64")
SMALL = ((), (1,), (5,), (3, 4), (4, 6), (2, 3, 4), (8, 8), (7, 1, 3))
MEDIUM = ((64, 64), (300,), (16, 33), (40, 5, 6))
LARGE = ((300, 400), (90_000,), (1 << 18,))
_WEIGHTS = {
    "new": 8, "array": 3, "alias": 5, "poke": 5, "unary": 12, "binary": 12, "reduce": 5,
    "inexact": 3, "view": 12, "inplace": 22, "fail": 2, "stall": 1, "look": 14, "sync": 1,
    "del": 10,
}  # fmt: skip
_MOST_LIVE = 24


class Generator:
    """Programs of a seed. `prefix` starts every name, so that threads do not share them."""

    def __init__(
        self, seed: int, prefix: str = "", state: Interpreter | None = None, alone: bool = True
    ) -> None:
        # Beside other threads: their failures reach a sync, their random numbers change ours.
        self.random = random.Random(seed)
        self.prefix = prefix
        self.state = state or Interpreter()
        self.program: Program = []
        self.count = 0
        self.alone = alone
        self.weights = dict(_WEIGHTS, sync=1 if alone else 0)

    def generate(self, length: int) -> Program:
        while len(self.program) < length:
            self.statement()
        for name, variable in sorted(self.state.variables.items()):
            if not variable.memory.frozen or self.random.random() < 0.2:
                self._look_at(name, variable)
        return self.program

    def statement(self) -> None:
        """Adds one; sometimes none, where nothing fits."""
        if len(self.state.variables) > _MOST_LIVE:
            self._del()
        group = self.random.choices(list(self.weights), list(self.weights.values()))[0]
        getattr(self, "_" + group)()

    def add(self, kind: str, *ins: str, outs: int | None = None, **attrs: Any) -> str:
        """Appends a statement and lets the interpreter run it."""
        makes = KINDS[kind].makes
        count = {"nothing": 0, "both": 2}.get(makes, 1) if outs is None else outs
        names = []
        for _ in range(count):
            self.count += 1
            names.append(f"{self.prefix}v{self.count}")
        statement = Statement(kind, tuple(names), ins, tuple(sorted(attrs.items())))
        self.program.append(statement)
        self.state.step(len(self.program), statement)
        return names[0] if names else ""

    # --- choices ---

    def _shape(self) -> tuple[int, ...]:
        pools = self.random.choices([SMALL, MEDIUM, LARGE], [60, 8, 1])[0]
        return self.random.choice(pools)

    def _value(self) -> int:
        return self.random.randrange(-4, 9)

    def _pick(self, fits: Callable[[Variable], bool]) -> str | None:
        names = [n for n, v in self.state.variables.items() if fits(v)]
        return self.random.choice(names) if names else None

    def _tensor(self, fits: Callable[[Variable], bool] = lambda v: True) -> str | None:
        return self._pick(lambda v: v.is_tensor and v.array.dtype.kind != "b" and fits(v))

    def _var(self, name: str) -> Variable:
        return self.state.variables[name]

    def _poisons_agree(self, *variables: Variable) -> bool:
        """One error only: which of two is told depends on how many instructions an op takes."""
        return len({v.memory.poison for v in variables} - {None}) < 2

    def _partner(self, name: str, target: bool = False, tensor: bool = True) -> str | None:
        """An operand for `name`: of its shape, or one that broadcasts to it."""
        x = self._var(name)

        def fits(y: Variable) -> bool:
            if y.array.dtype.kind == "b" or y.is_tensor != tensor:
                return False
            if not self._poisons_agree(x, y):
                return False
            if target and y.array.dtype.kind == "f" and x.array.dtype.kind != "f":
                return False
            try:
                shape = np.broadcast_shapes(x.array.shape, y.array.shape)
            except ValueError:
                return False
            return shape == x.array.shape if target else int(np.prod(shape)) <= 1 << 18

        return self._pick(fits)

    # --- groups ---

    def _new(self) -> None:
        kind = self.random.choice(["full", "full", "full", "randn", "empty"])
        if kind == "randn" and self.alone:
            self.add("randn", shape=self._shape() or (1,))
            return
        kind = "full" if kind == "randn" else kind
        dtype = self.random.choice(DTYPES)
        self.add(kind, shape=self._shape(), value=self._value(), dtype=dtype)

    def _array(self) -> None:
        shape = self._shape() or (1,)
        dtype = self.random.choice(DTYPES)
        self.add("array", shape=shape, n=int(np.prod(shape)), value=self._value(), dtype=dtype)

    def _alias(self) -> None:
        kind = self.random.choice(["from_numpy", "from_numpy", "tensor", "numpy"])
        if kind == "numpy":
            name = self._tensor(lambda v: not v.overlaps and not v.memory.frozen)
        else:
            name = self._pick(lambda v: not v.is_tensor and not v.overlaps)
        if name is not None:
            self.add(kind, name)

    def _poke(self) -> None:
        name = self._pick(lambda v: not v.is_tensor and v.array.ndim > 0 and v.array.size > 0)
        if name is None:
            return
        index: Any = self.random.randrange(self._var(name).array.shape[0])
        if self.random.random() < 0.3:
            index = ()  # all of it
        self.add("poke", name, index=index, value=self._value())

    def _unary(self) -> None:
        name = self._tensor()
        if name is None:
            return
        x = self._var(name).array
        with np.errstate(all="ignore"):
            huge = x.size > 0 and not np.all(np.abs(x.astype(np.float64)) < 1e4)
        kind = self.random.choice(["add_number", "sub_from", "mul_number", "neg", "relu", "square",
                                   "abs", "sign", "floor", "clone", "cast", "div_number",
                                   "take_rows"])  # fmt: skip
        if kind == "take_rows":
            if x.ndim > 0 and x.shape[0] > 0:
                self.add(kind, name, indices=self._rows(x))
            return
        if huge:
            kind = self.random.choice(["mul_number", "cast", "clone"])
        if kind == "cast":
            # To its own dtype would be the tensor itself.
            others = [d for d in DTYPES if d != x.dtype.name]
            self.add("cast", name, dtype=self.random.choice(others))
        elif kind == "div_number" and x.dtype.kind != "f":
            self.add("neg", name)
        elif kind in ("add_number", "sub_from"):
            self.add(kind, name, value=self._value())
        elif kind in ("mul_number", "div_number"):
            values = [0.5, 2.0, 0.25, 3.0] if x.dtype.kind == "f" else [2, 3, -1]
            value = (0.015625 if x.dtype.kind == "f" else 0) if huge else self.random.choice(values)
            self.add("mul_number" if huge else kind, name, value=value)
        else:
            self.add(kind, name)

    def _rows(self, x: Any) -> list[int]:
        """Some indices of the first dim, of either sign."""
        size = x.shape[0]
        return [self.random.randrange(-size, size) for _ in range(self.random.randint(1, 4))]

    def _binary(self) -> None:
        name = self._tensor()
        other = self._partner(name) if name is not None else None
        if name is None or other is None:
            return
        a, b = self._var(name).array, self._var(other).array
        kind = self.random.choice(
            ["add", "add", "sub", "mul", "div", "eq", "lt", "maximum", "minimum"]
        )
        if kind == "div" and (a.dtype.kind != "f" or b.dtype.kind != "f"):
            kind = "sub"
        if kind in ("eq", "lt") and a.dtype != b.dtype:
            kind = "add"
        self.add(kind, name, other)

    def _reduce(self) -> None:
        kind = self.random.choice(["sum", "sum_dim", "argmax", "matmul"])
        if kind == "matmul":
            self._matmul()
            return
        name = self._tensor(lambda v: v.array.ndim > 0 and v.array.size > 0)
        if name is None:
            return
        dim = self.random.randrange(self._var(name).array.ndim)
        if kind == "sum":
            self.add("sum", name)
        elif kind == "argmax":
            self.add("argmax", name, dim=dim)
        else:
            self.add("sum_dim", name, dim=dim, keepdim=self.random.random() < 0.5)

    def _matmul(self) -> None:
        def matrix(v: Variable) -> bool:
            return v.array.ndim == 2 and v.array.dtype.kind == "f" and v.array.size < 10_000

        name = self._tensor(matrix)
        if name is None:
            return
        x = self._var(name)
        other = self._tensor(
            lambda v: matrix(v) and v.array.dtype == x.array.dtype
            and v.array.shape[0] == x.array.shape[1] and self._poisons_agree(x, v)
        )  # fmt: skip
        if other is not None:
            self.add("matmul", name, other)

    def _inexact(self) -> None:
        name = self._tensor(lambda v: v.array.dtype.kind == "f" and v.array.ndim > 0)
        if name is None:
            return
        kind = self.random.choice(["tanh", "sigmoid", "exp", "mean", "log_softmax"])
        dim = self.random.randrange(self._var(name).array.ndim)
        self.add(kind, name, **({"dim": dim} if kind in ("mean", "log_softmax") else {}))

    def _view(self) -> None:
        name = self._tensor(lambda v: v.array.ndim > 0 and v.array.size > 0)
        if name is None:
            return
        x = self._var(name).array
        dim = self.random.randrange(x.ndim)
        size = x.shape[dim]
        start = self.random.randrange(size)
        kind = self.random.choice(
            ["narrow", "slice", "select", "transpose", "view", "unsqueeze", "expand"]
        )
        if kind == "narrow":
            self.add(kind, name, dim=dim, start=start, length=self.random.randint(1, size - start))
        elif kind == "slice":
            start = self.random.randrange(x.shape[0])
            step = self.random.choice([1, 1, 2, 3])
            self.add(
                kind, name, start=start, stop=self.random.randint(start + 1, x.shape[0]), step=step
            )
        elif kind == "select":
            self.add(kind, name, dim=dim, start=start)
        elif kind == "transpose":
            self.add(kind, name, dim=dim, other=self.random.randrange(x.ndim))
        elif kind == "view" and x.flags.c_contiguous:
            self.add(kind, name, shape=self.random.choice([(-1,), (x.shape[0], -1), (1, -1)]))
        elif kind == "unsqueeze" and x.ndim < 5:
            self.add(kind, name, dim=self.random.randint(0, x.ndim))
        elif kind == "expand" and x.size < 100 and x.ndim < 4:
            self.add(kind, name, shape=(3, *x.shape))

    def _target(self) -> str | None:
        return self._tensor(lambda v: not v.overlaps and not v.memory.frozen and v.array.size > 0)

    def _inplace(self) -> None:
        name = self._target()
        if name is None:
            return
        x = self._var(name).array
        kind = self.random.choice(["add_", "sub_", "mul_", "add_number_", "mul_number_", "relu_",
                                   "clamp_", "fill_", "zero_", "copy_", "copy_", "copy_array_",
                                   "copy_array_", "set_slice", "set_slice_to", "set_rows",
                                   "set_rows_to"])  # fmt: skip
        if kind in ("add_", "sub_", "mul_", "copy_", "copy_array_"):
            other = self._partner(name, target=True, tensor=kind != "copy_array_")
            if other is not None:
                self.add(kind, name, other)
        elif kind in ("relu_", "zero_"):
            self.add(kind, name)
        elif kind in ("add_number_", "mul_number_", "clamp_", "fill_"):
            value = 0.5 if kind == "mul_number_" and x.dtype.kind == "f" else self._value()
            self.add(kind, name, value=value)
        elif x.ndim > 0:
            self._set_slice(kind, name)

    def _set_slice(self, kind: str, name: str) -> None:
        x = self._var(name)
        start = self.random.randrange(x.array.shape[0])
        stop = self.random.randint(start + 1, x.array.shape[0])
        rows = kind.startswith("set_rows")
        where = {"indices": self._rows(x.array)} if rows else {"start": start, "stop": stop}
        if kind in ("set_slice", "set_rows"):
            self.add(kind, name, value=self._value(), **where)
            return

        def fits(v: Variable) -> bool:
            lower = v.array.dtype.kind != "f" or x.array.dtype.kind == "f"
            row = v.array.shape == x.array.shape[1:]
            return row and lower and v.array.dtype.kind != "b" and self._poisons_agree(x, v)

        other = self._tensor(fits)
        if other is not None:
            self.add(kind, name, other, **where)

    def _fail(self) -> None:
        kind = self.random.choice(["throw", "throw_", "nll_loss"])
        if kind == "throw_":
            name = self._target()
        elif kind == "throw":
            name = self._tensor()
        else:
            name = self._tensor(
                lambda v: (
                    v.array.ndim == 2 and v.array.dtype.kind == "f" and 0 < v.array.shape[0] < 9
                )
            )
        if name is None:
            return
        if kind == "nll_loss":
            rows = self._var(name).array.shape[0]
            self.add(kind, name, targets=[0] * (rows - 1) + [1 << 40])
        else:
            self.add(kind, name, delay=0)

    def _stall(self) -> None:
        """Keeps the stream busy, so that much is queued behind; costs no processor time."""
        name = self._tensor()
        if name is not None:
            self.add("throw", name, delay=self.random.choice([1, 1, 2]))

    def _look(self) -> None:
        name = self._pick(lambda v: v.array.size > 0)
        if name is not None:
            self._look_at(name, self._var(name))

    def _look_at(self, name: str, variable: Variable) -> None:
        if not variable.is_tensor:
            self.add("look", name)
            return
        array = variable.array
        if array.ndim > 0 and array.size > 0 and self.random.random() < 0.3:
            index = tuple(self.random.randrange(n) for n in array.shape)
            self.add("item", name, index=index)
            return
        dtype = array.dtype.name
        self.add("read", name, dtype="bool_" if dtype == "bool" else dtype)

    def send(self) -> bool:
        """Hands a tensor over: from then on nothing here shares its memory."""
        name = self._tensor(lambda v: not v.memory.frozen and not v.overlaps)
        if name is None:
            return False
        memory = self._var(name).memory
        for other in [n for n, v in self.state.variables.items() if v.memory is memory]:
            if other != name:
                self.add("del", other)
        self.add("send", name)
        return True

    def _sync(self) -> None:
        self.add("sync")

    def _del(self) -> None:
        name = self._pick(lambda v: not v.memory.frozen)
        if name is not None:
            self.add("del", name)
