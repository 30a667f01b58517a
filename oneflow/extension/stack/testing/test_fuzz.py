"""Random programs whose ops fail in the background: is every frame of their stacks the true one?

ONEFLOW_FUZZ_PROGRAMS says how many (300); ONEFLOW_FUZZ_SEED where to begin (1).
"""

from __future__ import annotations

import os
import pathlib

import stack_testing
from fuzz_check import Checker

_PROGRAMS = int(os.environ.get("ONEFLOW_FUZZ_PROGRAMS", "300"))
_FIRST = int(os.environ.get("ONEFLOW_FUZZ_SEED", "1"))


def test_every_stack_is_the_true_one(tmp_path: pathlib.Path) -> None:
    """File, line, column and function of all frames, and the source lines."""
    stack_testing.install()
    public = os.environ.get("ONEFLOW_TEST_STACK_PUBLIC_API") == "1"
    assert stack_testing.stats()["public_api"] == public
    checker = Checker(tmp_path)
    right = sum(checker.run(seed) for seed in range(_FIRST, _FIRST + _PROGRAMS))
    print(f"{right} of {_PROGRAMS} programs right, {checker.checked} stacks compared")
    assert not checker.wrong, "\n".join(checker.wrong[:10])
    assert right == _PROGRAMS
    assert checker.checked > 3 * _PROGRAMS


def test_one_record_for_each_frame_is_found_out(tmp_path: pathlib.Path) -> None:
    """Positive control: a recorder that keeps one line for each frame, and overwrites it."""
    stack_testing.install()
    checker = Checker(tmp_path)
    stack_testing.plant("one line for each frame")
    try:
        right = sum(checker.run(seed) for seed in range(1, 51))
    finally:
        stack_testing.plant("")
    assert right < 25, f"{right} of 50 programs passed with a planted fault"
