"""A plain sequential interpreter of the programs: numpy for values, a few rules for failures.

It knows nothing of streams. What it says of each statement is compared with what the runtime did:
values bit for bit, and for each failure the line whose op failed first.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from tests.vm.program import KINDS, Statement

Array = np.ndarray[Any, Any]

# How much is known of the values in a memory.
EXACT = 0  # every bit
SAME_IN_EVERY_MODE = 1  # sums of any floats, tanh, random numbers
UNKNOWN = 2  # a float that does not fit the integer that it was cast to

RANK = {"bool": 0, "int32": 1, "int64": 2, "float32": 3, "float64": 4}


@dataclasses.dataclass
class Memory:
    """What a storage holds."""

    buffer: Array  # of one dimension
    level: int = EXACT
    poison: int | None = None  # the line whose failure a reader hears of
    visible: bool = False  # Python can look at it without asking
    frozen: bool = False  # shared by threads, read only


@dataclasses.dataclass
class Variable:
    """A tensor, or an array of numpy."""

    memory: Memory
    array: Array  # a view of the memory's buffer
    is_tensor: bool = True
    root: str = ""  # the tensor that came with the memory; "": an array or a root
    overlaps: bool = False

    @property
    def covers(self) -> bool:
        return self.array.size == self.memory.buffer.size and not self.overlaps


@dataclasses.dataclass
class Expected:
    """What must be seen of one statement."""

    error: int | None = None  # the line that a reader, or the caller, hears of
    visible: bool = False  # it waits for its op, and raises the error itself
    unsure: bool = False  # it takes several ops, of which the failing one may not be waited for
    value: Array | None = None  # of a look
    level: int = EXACT
    shape: tuple[int, ...] = ()  # of the result
    dtype: str = ""
    root: str = ""
    revives: bool = False  # ends the poison of the target's memory
    target_visible: bool = False


def promoted(a: Array, b: Array) -> np.dtype[Any]:
    """The common dtype; beside one with dims, an array without them only lifts the category."""
    if (a.ndim == 0) != (b.ndim == 0):
        whole, number = (b, a) if a.ndim == 0 else (a, b)
        if "biuf".index(number.dtype.kind) <= "biuf".index(whole.dtype.kind):
            return whole.dtype
    return np.dtype(max(a.dtype.name, b.dtype.name, key=RANK.__getitem__))


def is_whole(array: Array, limit: float) -> bool:
    """Whole numbers whose absolute values add up to less than the limit."""
    if array.dtype.kind != "f":
        return True
    with np.errstate(all="ignore"):
        return bool(np.all(array == np.rint(array)) and np.abs(array).sum() < limit)


def exact_limit(dtype: np.dtype[Any]) -> float:
    return 2.0**24 if dtype == np.float32 else 2.0**53


def log_softmax(x: Array, dim: int) -> Array:
    shifted = x - x.max(dim, keepdims=True)
    result: Array = shifted - np.log(np.exp(shifted).sum(dim, keepdims=True))
    return result


class Interpreter:
    """The state after some statements."""

    def __init__(self) -> None:
        self.variables: dict[str, Variable] = {}
        self.sent: list[tuple[str, Variable]] = []
        self.inbox: list[tuple[str, Variable]] = []

    def step(self, line: int, statement: Statement) -> Expected:
        with np.errstate(all="ignore"):
            kind = KINDS[statement.kind]
            expected = Expected()
            if kind.in_place:
                self._in_place(line, statement, expected)
            elif statement.kind in ("read", "item", "look"):
                self._look(statement, expected)
            elif kind.makes == "view":
                self._make_view(statement, expected)
            elif statement.kind in _SPECIAL:
                _SPECIAL[statement.kind](self, statement, expected)
            else:
                self._make_tensor(line, statement, expected)
            return expected

    def tensor(self, name: str) -> Variable:
        return self.variables[name]

    # --- ops that make memory of their own ---

    def _make_tensor(self, line: int, statement: Statement, expected: Expected) -> None:
        operands = [self.variables[name] for name in statement.ins]
        self._note_failure(line, statement, operands, expected)
        result, level = compute(statement, [v.array for v in operands])
        level = max([level, *(v.memory.level for v in operands)])
        buffer = np.ascontiguousarray(result).reshape(-1).copy()
        memory = Memory(buffer, level, expected.error)
        self._bind(statement.outs[0], Variable(memory, buffer.reshape(result.shape)), expected)

    def _note_failure(
        self, line: int, statement: Statement, operands: list[Variable], expected: Expected
    ) -> None:
        for operand in operands:
            if expected.error is None:
                expected.error = operand.memory.poison
        if expected.error is None and KINDS[statement.kind].fails:
            expected.error = line
        expected.visible = any(v.memory.visible for v in operands)
        kinds = {v.array.dtype for v in operands}
        several = ("sub_from", "div_number", "nll_loss", "set_rows", "set_rows_to", "take_rows")
        expected.unsure = len(kinds) > 1 or statement.kind in several

    def _bind(self, name: str, variable: Variable, expected: Expected) -> None:
        self.variables[name] = variable
        expected.shape = variable.array.shape
        expected.dtype = variable.array.dtype.name
        expected.root = variable.root

    def _copy_array(self, statement: Statement, expected: Expected) -> None:
        source = self.variables[statement.ins[0]]
        buffer = np.ascontiguousarray(source.array).reshape(-1).copy()
        memory = Memory(buffer, source.memory.level)
        self._bind(
            statement.outs[0], Variable(memory, buffer.reshape(source.array.shape)), expected
        )

    def _alias_array(self, statement: Statement, expected: Expected) -> None:
        source = self.variables[statement.ins[0]]
        source.memory.visible = True
        self._bind(statement.outs[0], Variable(source.memory, source.array), expected)

    def _empty(self, statement: Statement, expected: Expected) -> None:
        shape = statement.attr("shape")
        buffer = np.full(int(np.prod(shape)), statement.attr("value"), statement.attr("dtype"))
        memory = Memory(buffer, visible=True)
        self._bind(statement.outs[0], Variable(memory, buffer.reshape(shape)), expected)
        self.variables[statement.outs[1]] = Variable(memory, buffer.reshape(shape), False)

    # --- arrays ---

    def _array(self, statement: Statement, expected: Expected) -> None:
        buffer = np.arange(statement.attr("n"), dtype=statement.attr("dtype"))
        buffer = buffer - buffer.dtype.type(statement.attr("value"))
        array = buffer.reshape(statement.attr("shape"))
        self.variables[statement.outs[0]] = Variable(Memory(buffer), array, False)

    def _numpy(self, statement: Statement, expected: Expected) -> None:
        source = self.variables[statement.ins[0]]
        source.memory.visible = True
        expected.error = source.memory.poison
        expected.visible = True
        if expected.error is None:
            self.variables[statement.outs[0]] = Variable(source.memory, source.array, False)

    def _poke(self, statement: Statement, expected: Expected) -> None:
        self.variables[statement.ins[0]].array[statement.attr("index")] = statement.attr("value")

    # --- views ---

    def _make_view(self, statement: Statement, expected: Expected) -> None:
        if statement.kind == "receive":
            _, variable = self.inbox.pop(0)
            self._bind(statement.outs[0], Variable(variable.memory, variable.array), expected)
            return
        name = statement.ins[0]
        base = self.variables[name]
        array = view_of(statement, base.array)
        overlaps = base.overlaps or statement.kind == "expand"
        view = Variable(base.memory, array, True, base.root or name, overlaps)
        self._bind(statement.outs[0], view, expected)

    # --- in place ---

    def _in_place(self, line: int, statement: Statement, expected: Expected) -> None:
        kind = KINDS[statement.kind]
        target = self.variables[statement.ins[0]]
        others = [self.variables[name] for name in statement.ins[1:]]
        reads = [target, *others] if kind.reads_target else others
        self._note_failure(line, statement, reads, expected)
        expected.target_visible = target.memory.visible
        expected.visible = expected.visible or target.memory.visible
        expected.unsure = expected.unsure or any(
            v.array.dtype != target.array.dtype or v.memory is target.memory for v in others
        )
        expected.root = target.root
        if expected.error is not None:
            return
        part = target.array
        covers = target.covers
        index: Any = ...
        if statement.kind.startswith("set_slice"):
            part = part[statement.attr("start") : statement.attr("stop")]
            covers = covers and part.size == target.array.size
        elif statement.kind.startswith("set_rows"):
            index = statement.attr("indices")
        # Operands are cast to the target's dtype first: the op runs in it.
        casts = [_cast(v.array, part.dtype.name) for v in others]
        value, level = compute(statement, [part[index], *(array for array, _ in casts)])
        part[index] = np.array(value)
        level = max([level, *(v.memory.level for v in others), *(known for _, known in casts)])
        if covers and not kind.reads_target:
            target.memory.level = level
            expected.revives = target.memory.poison is not None
            target.memory.poison = None
        else:
            target.memory.level = max(target.memory.level, level)

    # --- looks ---

    def _look(self, statement: Statement, expected: Expected) -> None:
        variable = self.variables[statement.ins[0]]
        expected.error = variable.memory.poison if variable.is_tensor else None
        expected.level = variable.memory.level
        array = variable.array
        if statement.kind == "item":
            array = array[statement.attr("index")]
        expected.value = np.array(array)

    def _forget(self, statement: Statement, expected: Expected) -> None:
        del self.variables[statement.ins[0]]

    def _send(self, statement: Statement, expected: Expected) -> None:
        name = statement.ins[0]
        self.sent.append((name, self.variables.pop(name)))

    def _nothing(self, statement: Statement, expected: Expected) -> None:
        pass


_SPECIAL: dict[str, Any] = {
    "tensor": Interpreter._copy_array,
    "from_numpy": Interpreter._alias_array,
    "empty": Interpreter._empty,
    "array": Interpreter._array,
    "numpy": Interpreter._numpy,
    "poke": Interpreter._poke,
    "del": Interpreter._forget,
    "send": Interpreter._send,
    "sync": Interpreter._nothing,
}


def view_of(statement: Statement, x: Array) -> Array:
    """The view that a statement makes, which shares numpy's memory as the tensor's does."""
    a = statement.attr
    make: dict[str, Any] = {
        "narrow": lambda: np.moveaxis(
            np.moveaxis(x, a("dim"), 0)[a("start") : a("start") + a("length")], 0, a("dim")
        ),
        "slice": lambda: x[a("start") : a("stop") : a("step")],
        "select": lambda: np.moveaxis(x, a("dim"), 0)[a("start"), ...],
        "transpose": lambda: x.swapaxes(a("dim"), a("other")),
        "view": lambda: x.reshape(a("shape")),
        "unsqueeze": lambda: np.expand_dims(x, a("dim")),
        "expand": lambda: np.broadcast_to(x, a("shape")),
    }
    result: Array = make[statement.kind]()
    assert result.size == 0 or np.may_share_memory(result, x)
    return result


def _binary(kind: str, a: Array, b: Array) -> Array:
    dtype = promoted(a, b)
    a, b = a.astype(dtype), b.astype(dtype)
    functions = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
                 "maximum": np.maximum, "minimum": np.minimum}  # fmt: skip
    return np.asarray(functions[kind](a, b))


def _relu(x: Array) -> Array:
    return np.where((x > 0) | (x != x), x, np.zeros_like(x))


def _sum(x: Array, dim: int | None, keepdim: bool) -> tuple[Array, int]:
    dtype = x.dtype if x.dtype.kind == "f" else np.dtype(np.int64)
    level = EXACT if is_whole(x, exact_limit(dtype)) else SAME_IN_EVERY_MODE
    return np.asarray(x.sum(dim, dtype=dtype, keepdims=keepdim)), level


def _argmax(x: Array, dim: int) -> tuple[Array, int]:
    level = SAME_IN_EVERY_MODE if x.dtype.kind == "f" and np.isnan(x).any() else EXACT
    return np.asarray(np.argmax(x, dim)), level


def _matmul(a: Array, b: Array) -> tuple[Array, int]:
    limit = exact_limit(a.dtype)
    exact = is_whole(a, limit) and is_whole(b, limit)
    exact = exact and float((np.abs(a) @ np.abs(b)).max(initial=0)) < limit
    return a @ b, EXACT if exact else SAME_IN_EVERY_MODE


def _cast(x: Array, dtype: str) -> tuple[Array, int]:
    wanted = np.dtype(dtype)
    level = EXACT
    if x.dtype.kind == "f" and wanted.kind == "i":
        fits = np.all(np.isfinite(x)) and np.all(np.abs(x) < 2.0**31 - 1)
        level = EXACT if fits else UNKNOWN
    return x.astype(wanted), level


def _number(kind: str, x: Array, value: float) -> Array:
    number = x.dtype.type(value)
    if kind == "sub_from":
        return np.asarray(x * x.dtype.type(-1) + number)
    return np.asarray({"add": np.add, "mul": np.multiply, "div": np.divide}[kind](x, number))


def compute(statement: Statement, operands: list[Array]) -> tuple[Array, int]:
    """The values that an op gives, and how well they are known."""
    kind = statement.kind.rstrip("_")
    a = statement.attr
    x = operands[0] if operands else np.zeros(0)
    if kind in ("add", "sub", "mul", "div", "maximum", "minimum"):
        return _binary(kind, x, operands[1]), EXACT
    if kind in ("add_number", "mul_number", "div_number"):
        return _number(kind[:3], x, a("value")), EXACT
    simple: dict[str, Any] = {
        "full": lambda: np.full(a("shape"), a("value"), a("dtype")),
        "sub_from": lambda: _number(kind, x, a("value")),
        "neg": lambda: np.asarray(x * x.dtype.type(-1)),
        "relu": lambda: _relu(x),
        "square": lambda: x * x,
        "abs": lambda: np.abs(x),
        "sign": lambda: np.where(x != x, 0, np.sign(x)).astype(x.dtype),
        "floor": lambda: np.floor(x) if x.dtype.kind == "f" else x.copy(),
        "clamp": lambda: np.minimum(x, x.dtype.type(a("value"))),
        "clone": lambda: x.copy(),
        "eq": lambda: x == operands[1],
        "lt": lambda: x < operands[1],
        "fill": lambda: np.broadcast_to(x.dtype.type(a("value")), x.shape),
        "zero": lambda: np.zeros_like(x),
        "copy": lambda: np.broadcast_to(operands[1], x.shape).copy(),
        "copy_array": lambda: np.broadcast_to(operands[1], x.shape).copy(),
        "set_slice": lambda: np.broadcast_to(x.dtype.type(a("value")), x.shape),
        "set_rows": lambda: np.broadcast_to(x.dtype.type(a("value")), x.shape),
        "set_rows_to": lambda: np.broadcast_to(operands[1], x.shape).copy(),
        "take_rows": lambda: x[a("indices")],
        "set_slice_to": lambda: np.broadcast_to(operands[1], x.shape).copy(),
        "throw": lambda: x.copy(),
        "nll_loss": lambda: np.asarray(x.dtype.type(0)),
    }
    if kind in simple:
        return simple[kind](), EXACT
    leveled: dict[str, Any] = {
        "sum": lambda: _sum(x, None, False),
        "sum_dim": lambda: _sum(x, a("dim"), a("keepdim")),
        "matmul": lambda: _matmul(x, operands[1]),
        "argmax": lambda: _argmax(x, a("dim")),
        "cast": lambda: _cast(x, a("dtype")),
        "randn": lambda: (np.zeros(a("shape"), np.float32), SAME_IN_EVERY_MODE),
        "tanh": lambda: (np.tanh(x), SAME_IN_EVERY_MODE),
        "sigmoid": lambda: (1 / (1 + np.exp(-x)), SAME_IN_EVERY_MODE),
        "exp": lambda: (np.exp(x), SAME_IN_EVERY_MODE),
        "mean": lambda: (np.asarray(x.mean(a("dim"), dtype=x.dtype)), SAME_IN_EVERY_MODE),
        "log_softmax": lambda: (log_softmax(x, a("dim")), SAME_IN_EVERY_MODE),
    }
    result: tuple[Array, int] = leveled[kind]()
    return result
