"""Runs programs on the runtime, in one of its modes, and compares what is seen with what must be.

Each statement is compiled with its number as the line, so that an error's stack tells which
statement failed. Where an op raises at its own line (it ran inline), its result does not exist, as
in any Python program; what would use it is left out, up to the statement that overwrites the memory
in full.
"""

from __future__ import annotations

import dataclasses
import queue
from collections.abc import Callable
from types import CodeType
from typing import Any

import numpy as np
from tests.vm.interpreter import EXACT, UNKNOWN, Array, Expected, Interpreter
from tests.vm.program import KINDS, Program, Statement, listing, to_text

import oneflow as flow

MODES = ("inline", "queued", "random", "auto")
_RUNS_INLINE = {"inline"}
_FAILURES = (RuntimeError, IndexError)  # what ops raise
_MOST_NOTES = 64  # errors that the runtime keeps for the next sync


class Mismatch(AssertionError):
    """The runtime did what the interpreter says it must not."""


class Prepared:
    """A program, compiled, with what must be seen of each statement."""

    def __init__(self, program: Program, name: str, interpreter: Interpreter | None = None) -> None:
        state = interpreter or Interpreter()
        self.name = name
        # A program that was cut down may use what is not made any more.
        self.program: Program = []
        self.expected: list[Expected] = []
        for statement in program:
            if all(name in state.variables for name in statement.ins):
                self.program.append(statement)
                self.expected.append(state.step(len(self.program), statement))
        program = self.program
        self.codes = [_compile(s, name, i + 1) for i, s in enumerate(program)]
        self.views: dict[str, list[int]] = {}  # of a root: the statements that made its views
        self.makers: dict[str, int] = {}
        for i, statement in enumerate(program):
            for out in statement.outs:
                self.makers[out] = i
            if KINDS[statement.kind].makes == "view" and self.expected[i].root:
                self.views.setdefault(self.expected[i].root, []).append(i)


def _compile(statement: Statement, name: str, line: int) -> CodeType:
    return compile("\n" * (line - 1) + statement.source(), f"<{name}>", "exec")


def canonical(array: Array) -> bytes:
    """The bits, with one pattern for all that is no number."""
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), array.dtype.type(np.nan), array)
    return np.ascontiguousarray(array).tobytes()


@dataclasses.dataclass(frozen=True)
class Dead:
    """Passed to another thread for a tensor that does not exist there either."""


class Runner:
    """One run of a program."""

    def __init__(
        self,
        prepared: Prepared,
        mode: str,
        given: dict[str, Any] | None = None,
        others_fail: bool = False,
    ) -> None:
        self.prepared = prepared
        self.mode = mode
        self.others_fail = others_fail  # so that nothing can be said of sync()
        self.env: dict[str, Any] = {"flow": flow, "np": np, **(given or {})}
        self.dead: set[str] = set()
        self.deleted: set[str] = set()
        self.read_errors: set[int] = set()
        self.notes: list[tuple[int, bool]] = []  # (error, told even if it was read)
        self.seen: list[tuple[int, bytes]] = []  # values, to compare modes
        self.outbox: queue.Queue[Any] = queue.Queue()
        self.env["send"] = self.outbox.put
        self.inbox: Callable[[], Any] | None = None

    def run(self) -> list[tuple[int, bytes]]:
        for index, statement in enumerate(self.prepared.program):
            self._step(index, statement, self.prepared.expected[index])
        return self.seen

    # --- one statement ---

    def _step(self, index: int, statement: Statement, expected: Expected) -> None:
        if statement.kind == "receive":
            self._receive(statement)
            return
        if statement.kind == "send" and statement.ins[0] in self.dead:
            self.outbox.put(Dead())
        if not self.dead.isdisjoint(statement.ins) and not self._revive(index, statement, expected):
            self._skip(index, statement, expected)
            return
        if statement.kind == "sync":
            self._sync(index)
            return
        error = self._execute(index)
        if statement.kind in ("del", "send"):
            self.deleted.add(statement.ins[0])
        self._check_outcome(index, statement, expected, error)
        if error is None and expected.value is not None:
            self._check_value(index, expected, self.env.pop("got"))

    def _execute(self, index: int) -> Exception | None:
        try:
            exec(self.prepared.codes[index], self.env)
        except _FAILURES as error:
            return error.with_traceback(None)
        return None

    def _receive(self, statement: Statement) -> None:
        assert self.inbox is not None
        tensor = self.inbox()
        if isinstance(tensor, BaseException):
            raise tensor
        if isinstance(tensor, Dead):
            self.dead.add(statement.outs[0])
        else:
            self.env[statement.outs[0]] = tensor

    def _skip(self, index: int, statement: Statement, expected: Expected) -> None:
        """An operand does not exist, as the op that makes it raised: the interpreter knows why."""
        if statement.kind in ("del", "send"):
            self.dead.discard(statement.ins[0])
            self.deleted.add(statement.ins[0])
            return
        is_view = KINDS[statement.kind].makes == "view"
        if not is_view and expected.error is None and not expected.revives:
            # Partial writes into memory that is poisoned: nobody can see them.
            if not KINDS[statement.kind].in_place:
                self._fail(index, "an operand is missing that should be there")
        self.dead.update(statement.outs)

    def _check_outcome(
        self, index: int, statement: Statement, expected: Expected, error: Exception | None
    ) -> None:
        line = index + 1
        look = expected.value is not None or statement.kind == "numpy"
        if error is not None:
            got = self.line_of(error)
            if expected.error is None or got != expected.error:
                self._fail(index, f"raised the error of line {got}, not {expected.error}: {error}")
            if self.mode == "queued" and not (expected.visible or expected.unsure or look):
                self._fail(index, "raised at its line, though it was queued")
            self.read_errors.add(got)
            self.dead.update(statement.outs)
            return
        if expected.error is None:
            return
        if look or self.mode in _RUNS_INLINE or (expected.visible and not expected.unsure):
            self._fail(index, f"did not raise the error of line {expected.error}")
        if expected.error == line:
            self.notes.append((line, False))
        elif KINDS[statement.kind].in_place:
            self.notes.append((expected.error, True))

    def _check_value(self, index: int, expected: Expected, got: Any) -> None:
        assert expected.value is not None
        value = np.asarray(got)
        if self.prepared.program[index].kind == "item":
            value = value.astype(expected.value.dtype)
        if value.shape != expected.value.shape or value.dtype != expected.value.dtype:
            self._fail(index, f"gave {value.dtype} {value.shape}")
        bits = canonical(value)
        if expected.level == EXACT and bits != canonical(expected.value):
            self._fail(index, f"gave\n{value}\nnot\n{expected.value}")
        if expected.level != UNKNOWN:
            self.seen.append((index, bits))

    def _sync(self, index: int) -> None:
        notes, self.notes = self.notes[:_MOST_NOTES], []
        wanted = next((e for e, always in notes if always or e not in self.read_errors), None)
        try:
            flow._oneflow_internal.sync()
        except _FAILURES as error:
            got = self.line_of(error)
            self.read_errors.add(got)
            if got != wanted and not self.others_fail:
                self._fail(index, f"raised the error of line {got}, not {wanted}")
            return
        if wanted is not None and not self.others_fail:
            self._fail(index, f"did not raise the error of line {wanted}")

    def line_of(self, error: Exception) -> int:
        """The statement that failed, by the error's stack."""
        stack = getattr(error, "stack", None)
        if not stack:
            return -1
        name, line = stack[-1].filename.strip("<>"), stack[-1].lineno
        return line if name == self.prepared.name else foreign(name, line)

    # --- memory that comes back ---

    def _revive(self, index: int, statement: Statement, expected: Expected) -> bool:
        """The target does not exist, but is overwritten in full now: makes it and its views."""
        if not expected.revives or not self.dead.isdisjoint(statement.ins[1:]):
            return False
        target = statement.ins[0]
        root = expected.root or target
        maker = self.prepared.makers[root]
        made = self.prepared.expected[maker]
        dtype = getattr(flow, made.dtype)
        self.env[root] = flow.empty(tuple(made.shape), dtype=dtype)
        if expected.target_visible:
            self.env[root].numpy()
        names = [root]
        for i in self.prepared.views.get(root, []):
            view = self.prepared.program[i]
            if view.ins[0] in self.env and i < index:
                exec(self.prepared.codes[i], self.env)
                names.append(view.outs[0])
        for name in names:
            self.dead.discard(name)
            if name in self.deleted:
                self.env.pop(name, None)
        return True

    def _fail(self, index: int, what: str) -> None:
        statement = self.prepared.program[index]
        raise Mismatch(f"mode {self.mode}, line {index + 1}, {statement.source()}\n{what}")


def foreign(name: str, line: int) -> int:
    """The number of a line in another thread's program."""
    return -(sum(ord(c) * 7919**k for k, c in enumerate(name)) % 10**9) * 10_000 - line


def check(program: Program, name: str, modes: tuple[str, ...] = MODES) -> None:
    """Raises Mismatch where a mode differs from the interpreter, or from another mode."""
    prepared = Prepared(program, name)
    first: list[tuple[int, bytes]] | None = None
    for mode in modes:
        flow._oneflow_internal.set_vm_mode(mode)
        flow.manual_seed(1)
        try:
            seen = Runner(prepared, mode).run()
        finally:
            settle()
        if first is None:
            first = seen
        compare_modes(prepared.program, first, seen, f"{modes[0]} and {mode}")


def compare_modes(
    program: Program, first: list[tuple[int, bytes]], other: list[tuple[int, bytes]], which: str
) -> None:
    """What both runs saw is equal."""
    values = dict(first)
    for index, bits in other:
        if values.get(index, bits) != bits:
            raise Mismatch(f"line {index + 1}, {program[index].source()}: {which} differ")


def settle() -> None:
    """Waits, and forgets errors that nobody has read."""
    for _ in range(2):
        try:
            flow._oneflow_internal.sync()
        except _FAILURES:
            pass
    flow._oneflow_internal.set_vm_mode("auto")
    flow._oneflow_internal.forget_unread_errors()


def describe(program: Program, why: BaseException) -> str:
    """What a failing test prints: the difference, the program to read, and to run again."""
    repeat = f"to repeat: save this, ONEFLOW_TEST_PROGRAM=<file>\n{to_text(program)}"
    return f"{why}\n\n{listing(program)}\n\n{repeat}"
