"""Random programs over every row of the op table give the same bits however their ops run.

The first run is inline, and numpy and finite differences are asked of its steps (op_oracle.py).
ONEFLOW_TEST_SEED is the first seed, ONEFLOW_TEST_SEEDS how many; ONEFLOW_TEST_PROGRAM names a file
with one program, as a failure prints it, to run that alone.
"""

from __future__ import annotations

import collections
import os
from pathlib import Path
from typing import Any

import pytest
from tests.faults import faulty
from tests.vm.op_generator import OpGenerator
from tests.vm.op_machine import FAILED, MODES, Seen, check, describe
from tests.vm.op_oracle import Oracle, oracle
from tests.vm.op_program import KINDS, VIEWS, OpProgram, from_text, rows, to_text
from tests.vm.runner import Mismatch
from tests.vm.shrink import shrink

import oneflow as flow

SEED = int(os.environ.get("ONEFLOW_TEST_SEED", "1"))
SEEDS = int(os.environ.get("ONEFLOW_TEST_SEEDS", "1"))
PROGRAMS = 12  # of one seed: each row is drawn once or more
LENGTH = 80


def fails(program: OpProgram) -> bool:
    """Whether it is not as it should be, in one of three tries."""
    for _ in range(3):
        try:
            check(program, oracle(program), MODES[1:3])
        except Mismatch:
            return True
    return False


def judge(generator: OpGenerator) -> tuple[OpProgram, Seen]:
    """Makes a program and compares; a failure shows the shortest program that still fails."""
    try:
        program, seen = generator.generate(LENGTH)
        check(program, seen, MODES[1:])
        return program, seen
    except Mismatch as why:
        small = shrink(generator.program, fails, tries=150)
        pytest.fail(describe(small, why))


class Tally:
    """What programs were made of."""

    def __init__(self) -> None:
        self.rows: set[str] = set()
        self.views: set[str] = set()
        self.counts: collections.Counter[str] = collections.Counter()

    def add(self, program: OpProgram, seen: Seen, run: Oracle) -> None:
        self.rows |= {step.row for step in program}
        self.views |= {use.view for step in program for use in step.uses}
        self.counts.update(step.kind for step in program)
        self.counts["steps"] += len(program)
        self.counts["failed"] += sum(value == FAILED for value in seen.values())
        self.counts["compared"] += run.compared
        self.counts["differentiated"] += run.differentiated


def test_random_programs() -> None:
    """Of each seed every row is drawn, most results are compared, all kinds of steps happen."""
    for seed in range(SEED, SEED + SEEDS):
        generator, tally = OpGenerator(seed), Tally()
        for _ in range(PROGRAMS):
            tally.add(*judge(generator), generator.oracle)
        counts = tally.counts
        assert set(rows()) <= tally.rows, sorted(set(rows()) - tally.rows)
        assert tally.views == set(VIEWS)
        assert counts["compared"] > counts["steps"] / 2 and counts["differentiated"] > 5, counts
        assert min(counts[k] for k in (*KINDS, "failed")) > 15, counts


def test_the_program_that_was_asked_for() -> None:
    path = os.environ.get("ONEFLOW_TEST_PROGRAM")
    program = from_text(Path(path).read_text()) if path else OpGenerator(0).generate(40)[0]
    again = from_text(to_text(program))
    assert again == program
    check(again, oracle(again), MODES[1:])


# --- faults, planted in ops: each must be noticed ---


def noticed(*only: str) -> OpProgram:
    """The program of these rows that notices, cut down; AssertionError if none does."""
    generator = OpGenerator(SEED, only)
    for _ in range(20):
        try:
            program, seen = generator.generate(LENGTH)
            check(program, seen, MODES[1:3])
        except Mismatch:
            return shrink(generator.program, fails, tries=150)
    raise AssertionError("nothing was noticed")


def test_a_wrong_value_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """tanh is half a per mille too large; the program shrinks to it and what it needs."""
    right = flow._C.tanh
    monkeypatch.setattr(flow._C, "tanh", lambda x: flow._C.mul(right(x), 1.0005))
    small = noticed("tanh", "exp", "matmul", "relu", "transpose", "add")
    assert "tanh" in {step.row for step in small} and len(small) < 5


def test_a_wrong_gradient_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = flow._C.mul

    def wrong(input: Any, other: Any) -> Any:
        if not (isinstance(input, flow.Tensor) and isinstance(other, flow.Tensor)):
            return right(input, other)
        return right(input, other) + right(input.detach(), other) - right(input, other.detach())

    monkeypatch.setattr(flow._C, "mul", wrong)
    assert "mul" in {step.row for step in noticed("mul", "sub", "sum", "exp")}


def test_an_update_that_misses_the_memory_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """relu_ of what is not contiguous is written into a copy."""
    right = flow._C.relu_
    monkeypatch.setattr(flow._C, "relu_", lambda x: right(x if x.is_contiguous() else x.clone()))
    assert "relu" in {step.row for step in noticed("relu", "add", "permute", "narrow", "randn")}


def test_a_value_that_depends_on_the_mode_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """softmax gives another last bit where it is not asked for inline, as a race would."""
    right, choose = flow._C.softmax, flow._oneflow_internal.set_vm_mode
    mode = [""]

    def note(name: str) -> None:
        mode[0] = name
        choose(name)

    def wrong(*args: Any, **keywords: Any) -> Any:
        result = right(*args, **keywords)
        return result if mode[0] == "inline" else flow._C.mul(result, 1.0000002)

    monkeypatch.setattr(flow._oneflow_internal, "set_vm_mode", note)
    monkeypatch.setattr(flow._C, "softmax", wrong)
    assert "softmax" in {step.row for step in noticed("softmax", "mul", "sum", "exp")}


IN_A_KERNEL = """
from tests.vm.op_generator import OpGenerator
from tests.vm.op_machine import MODES, check
from tests.vm.runner import Mismatch

generator = OpGenerator(1, ("gather", "add", "sum", "narrow", "exp"))
try:
    for _ in range(6):
        check(*generator.generate(80), MODES[1:3])
    print("nothing noticed")
except Mismatch as why:
    print("noticed", why)
"""


@pytest.mark.parametrize("fault", ["none", "bad_index_gives_zeros"])
def test_a_fault_in_a_kernel_is_noticed(fault: str) -> None:
    ended = faulty.run(IN_A_KERNEL, fault, timeout=200)
    assert ended.status == 0, ended.stderr
    word = "nothing" if fault == "none" else "noticed"
    assert ended.stdout.startswith(word), ended.stdout
