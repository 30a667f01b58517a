"""Random programs give the same bits however their ops run, and fail where an interpreter says.

ONEFLOW_TEST_PROGRAMS sets how many, ONEFLOW_TEST_SEED the first seed; ONEFLOW_TEST_PROGRAM names a
file with one program, as a failure prints it, to run that alone.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.vm.generator import Generator
from tests.vm.program import Program, from_text, to_text, without_orphans
from tests.vm.runner import MODES, Mismatch, check, describe
from tests.vm.shrink import shrink

_SLOW = bool(os.environ.get("ONEFLOW_SANITIZER"))
PROGRAMS = int(os.environ.get("ONEFLOW_TEST_PROGRAMS", "50" if _SLOW else "250"))
SEED = int(os.environ.get("ONEFLOW_TEST_SEED", "1"))
LENGTH = 80 if _SLOW else 300


def fails(program: Program, modes: tuple[str, ...]) -> bool:
    for _ in range(3):
        try:
            check(program, "shrunk", modes)
        except Mismatch:
            return True
    return False


def test_random_programs() -> None:
    for seed in range(SEED, SEED + PROGRAMS):
        program = Generator(seed).generate(LENGTH)
        # `auto` runs most as `inline` does.
        modes = MODES if seed % 4 == 0 else MODES[:3]
        try:
            check(program, f"program {seed}", modes)
        except Mismatch as why:
            small = shrink(program, lambda p, m=modes: fails(p, m))  # type: ignore[misc]
            pytest.fail(f"seed {seed}: " + describe(small, why))


def test_the_program_that_was_asked_for() -> None:
    path = os.environ.get("ONEFLOW_TEST_PROGRAM")
    program = from_text(Path(path).read_text()) if path else Generator(0).generate(50)
    check(from_text(to_text(program)), "asked for")


def test_programs_are_diverse() -> None:
    """A generator that makes the same few statements would prove little."""
    programs = [Generator(seed).generate(200) for seed in range(8)]
    kinds = {s.kind for p in programs for s in p}
    assert len(kinds) > 45, kinds
    poisoned = sum(1 for p in programs for s in p if s.kind in ("throw", "throw_", "nll_loss"))
    assert poisoned > 8


def test_shrinking_keeps_what_matters() -> None:
    program = Generator(3).generate(200)
    last = next(s for s in reversed(program) if s.kind in ("add", "sub", "mul"))
    small = shrink(program, lambda p: last in p)
    assert last in small and len(small) < 40
    assert without_orphans(small) == small
