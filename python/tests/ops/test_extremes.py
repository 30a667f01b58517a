"""Integers at the edges of 32 and 64 bits, wherever a row takes one: an error or a result, and the
process goes on. The calls of a row run in a child, so that one which ends it is named.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from typing import Any

from tests.ops.checker import function_of, run
from tests.ops.samples import Sample, each, samples, table
from tests.support import must_fail

import oneflow as flow
from tools.gen.table import Row

EDGES = (
    *(-(1 << 63), -(1 << 62), -(1 << 31), -1, 0, 1 << 16),
    *(1 << 31, 1 << 32, 1 << 33, 1 << 48, 1 << 61, 1 << 62, (1 << 63) - 1),
)
EXPECTED = (TypeError, ValueError, IndexError, RuntimeError, NotImplementedError)
# Work that grows with the number itself, as it must.
SLOW = {("roi_align", "sampling_ratio"), ("roi_align_grad", "sampling_ratio")}
SECONDS = 240
ROWS = [row for row in table() if row.places]


def replacements(given: Any) -> Iterator[Any]:
    """The argument with each integer in it replaced by each edge."""
    if type(given) is int:
        yield from EDGES
    elif isinstance(given, (list, tuple)) and given and all(type(item) is int for item in given):
        for edge in EDGES:
            yield from ([*given[:i], edge, *given[i + 1 :]] for i in range(len(given)))
            yield [edge] * len(given)


def changed(row: Row) -> Iterator[Sample]:
    """Small samples of the row, with one argument replaced."""
    found = samples(row, "float32") if row.samples or row.strategy != "none" else []
    defaults = {p.name: p.default for p in row.signature.params if type(p.default) is int}
    for sample in [sample for sample in found if not sample.large][:6]:
        for name, given in {**defaults, **sample.arguments}.items():
            if (row.name, name) in SLOW:
                continue
            for value in replacements(given):
                yield Sample(f"{name}={value}", {**sample.arguments, name: value})


def call_all(row: Row, note: Callable[[str], None]) -> None:
    """Every changed sample; what is not as expected is an AssertionError."""
    call = function_of(row, inplace=row.inplace_only)
    for sample in changed(row):
        note(sample.label)
        try:
            for result in run(row, sample, call):
                if isinstance(result, flow.Tensor) and result.numel() < 1 << 20:
                    result.numpy()
        except flow.OutOfMemoryError:
            pass
        except EXPECTED as error:
            assert "please report" not in str(error), f"{sample.label}: {error}"


def in_child(work: Callable[[Callable[[str], None]], None]) -> None:
    """Runs work(note) in a child; AssertionError says how it ended, and what it noted last."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        signal.alarm(SECONDS)

        def note(text: str) -> None:
            os.write(writing, f"{text}\n".encode())

        try:
            work(note)
        except BaseException as error:
            note(f"{type(error).__name__}: {error}")
            os._exit(1)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        noted = pipe.read().decode().splitlines()
    _, status = os.waitpid(child, 0)
    assert status == 0, f"status {status} at {noted[-1] if noted else 'its beginning'}"


@each("row", ROWS)
def test_integers_at_the_edges(row: Row) -> None:
    in_child(lambda note: call_all(row, note))


def test_control() -> None:
    def die(note: Callable[[str], None]) -> None:
        note("here")
        os.kill(os.getpid(), signal.SIGFPE)

    def complain(note: Callable[[str], None]) -> None:
        raise AssertionError("please report")

    for fault in (die, complain):
        must_fail(in_child, fault)
