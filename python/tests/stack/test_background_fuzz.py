"""Random programs in which one of many ops fails in the background: is its line named?

The programs are those of the recorder's fuzzer; here `record` is a real op, and Python finds out
that one failed when the program is over. ONEFLOW_FUZZ_PROGRAMS says how many (300), and
ONEFLOW_FUZZ_SEED where to begin (1).
"""

from __future__ import annotations

import itertools
import os
import pathlib
import random
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator
from typing import Any

import fuzz_support
import pytest
from fuzz_programs import Place, Program
from fuzz_run import HAS_SOURCE, Runner
from tests.support import must_fail

import oneflow as flow

_PROGRAMS = int(os.environ.get("ONEFLOW_FUZZ_PROGRAMS", "300"))
_FIRST = int(os.environ.get("ONEFLOW_FUZZ_SEED", "1"))
_HAS_COLUMNS = sys.version_info >= (3, 11)

Issue = Callable[[Any, int], Any]


def throw(x: Any, delay_ms: int) -> Any:
    """The op that fails."""
    return flow._C.throw_error(x, delay_ms)


class Ops:
    """What programs call: each call issues an op, and the one with number `fails` fails."""

    def __init__(self, issue: Issue, fails: int, delay_ms: int) -> None:
        self.issue, self.fails, self.delay_ms = issue, fails, delay_ms
        self.x = flow.ones(1)
        self.numbers = itertools.count()
        self.muted = 0
        self.tag = -1
        self.failed: Any = None
        self.others: list[Any] = []

    def __call__(self, tag: int) -> int:
        if self.muted:
            self.others[:] = [self.x + 1]
        elif next(self.numbers) == self.fails:
            self.tag = tag
            self.failed = self.issue(self.x, self.delay_ms)
        else:
            self.others.append(self.x + 1)
        return tag

    def mute(self, more: int) -> None:
        """In between, ops do not count."""
        self.muted += more


@pytest.fixture(autouse=True)
def in_the_background() -> Iterator[None]:
    """All ops are queued."""
    flow._oneflow_internal.set_vm_mode("queued")
    yield
    flow._oneflow_internal.set_vm_mode("auto")


def _run(runner: Runner, seed: int, issue: Issue, fails: int) -> tuple[str, Program, Ops]:
    way, program = runner.write(seed)
    ops = Ops(issue, fails, delay_ms=seed % 3)
    fuzz_support.use(ops, ops.mute)
    try:
        runner.run(program, seed, way)
    finally:
        runner.forget(program)
    return way, program, ops


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _shown(place: Place, lines: list[str]) -> str:
    """What a traceback shows below the file's name: the line and, from 3.11 on, the carets."""
    line = lines[place.line - 1]
    text = "    " + line.strip() + "\n"
    if not _HAS_COLUMNS:
        return text
    indent = len(line) - len(line.lstrip())
    begin = len(line.encode()[: place.column].decode())
    end = len(line.rstrip())
    if place.end_line == place.line:
        end = len(line.encode()[: place.end_column].decode())
    if (begin, end) == (indent, len(line.rstrip())):
        return text
    return text + "    " + " " * _width(line[indent:begin]) + "^" * _width(line[begin:end]) + "\n"


def _check(message: str, way: str, program: Program, tag: int) -> None:
    truth = program.truths[tag]
    pattern = ".*"
    for file, text in truth.calls:
        place = program.place(file, text)
        pattern += f'  File "{re.escape(file)}", line {place.line}, in .*'
    place = program.place(truth.file, truth.text)
    pattern += f'  File "{re.escape(truth.file)}", line {place.line}, in [^\n]+\n'
    if way in HAS_SOURCE and truth.file == program.main:
        pattern += re.escape(_shown(place, program.files[truth.file].split("\n")))
    else:
        pattern += "(?:    [^\n]*\n)*"
    pattern += f'  File "{re.escape(__file__)}", line [0-9]+, in __call__\n'
    assert re.match(pattern, message, re.DOTALL), (pattern, message)


def check_program(runner: Runner, seed: int, issue: Issue) -> None:
    """Runs a program, once to count its ops, and compares what its error says with its text."""
    _, _, counted = _run(runner, seed, issue, -1)
    total = next(counted.numbers)
    assert counted.failed is None
    assert total > 0
    fails = random.Random(seed).randrange(total)
    way, program, ops = _run(runner, seed, issue, fails)
    with pytest.raises(RuntimeError) as caught:
        ops.failed.numpy()
    _check(str(caught.value), way, program, ops.tag)
    assert all(other.item() == 2 for other in ops.others[:3])


def test_the_op_that_failed_is_named(tmp_path: pathlib.Path) -> None:
    """File, line, source and columns of the op, and the calls that led to it."""
    runner = Runner(tmp_path)
    for seed in range(_FIRST, _FIRST + _PROGRAMS):
        check_program(runner, seed, throw)
    print(f"{_PROGRAMS} of {_PROGRAMS} programs right")


def test_control(tmp_path: pathlib.Path) -> None:
    """An error that names the line of a later op is noticed: the fault of shadow stacks."""
    runner = Runner(tmp_path)
    noticed = 0
    for seed in range(1, 31):
        way, program, ops = _run(runner, seed, throw, 0)
        with pytest.raises(RuntimeError) as caught:
            ops.failed.numpy()
        _check(str(caught.value), way, program, ops.tag)
        for later in program.truths:
            if program.truths[later].text != program.truths[ops.tag].text:
                must_fail(_check, str(caught.value), way, program, later)
                noticed += 1
    assert noticed > 50
