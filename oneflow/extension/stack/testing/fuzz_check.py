"""Runs the fuzzer's programs and compares the recorded stacks with two truths.

The text of a program says where the call that failed stands, and the calls that lead to it. The
interpreter's own frame objects, looked at from below the call, say what every frame is.
"""

from __future__ import annotations

import dataclasses
import pathlib
import sys
from typing import Any

import fuzz_support
import stack_helpers
import stack_testing
from fuzz_programs import Place, Program
from fuzz_run import HAS_SOURCE, Runner


@dataclasses.dataclass(frozen=True)
class Seen:
    """A frame, as recorded or as the interpreter has it; -1 for what a version does not know."""

    file: str
    function: str
    line: int
    end_line: int = -1
    column: int = -1
    end_column: int = -1


def _comparable(seen: Seen) -> Seen:
    return seen if stack_helpers.HAS_COLUMNS else Seen(seen.file, seen.function, seen.line)


def _of_place(place: Place, function: str) -> Seen:
    whole = Seen(place.file, function, place.line, place.end_line, place.column, place.end_column)
    return _comparable(whole)


class Oracle:
    """Asks the interpreter for the stack of each record, by tag and number of the call."""

    def __init__(self) -> None:
        self.stacks: dict[tuple[int, int], list[Seen]] = {}

    def __call__(self, tag: int, number: int) -> None:
        """Called by `record`, one frame below the line that called it."""
        stack = stack_helpers.true_stack(sys._getframe(1))
        self.stacks[tag, number] = [Seen(*position) for position in stack]


class Checker:
    """Runs programs in `folder`; counts the stacks compared, and lists what was wrong."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.runner = Runner(folder)
        self.checked = 0
        self.wrong: list[str] = []

    def run(self, seed: int) -> bool:
        """Writes, runs and checks one program; false when a stack was wrong."""
        before = len(self.wrong)
        way, program = self.runner.write(seed)
        oracle = Oracle()
        fuzz_support.use(stack_testing.record, stack_testing.mute)
        stack_testing.set_oracle(oracle)
        try:
            self.runner.run(program, seed, way)
        finally:
            stack_testing.set_oracle(None)
            results = stack_testing.results()
            self.runner.forget(program)
        recorded = {(tag, number): frames for tag, number, frames in results}
        if recorded.keys() != oracle.stacks.keys() or not recorded:
            self.wrong.append(
                f"seed {seed}: recorded {sorted(recorded)}, not {sorted(oracle.stacks)}"
            )
        for call, frames in recorded.items():
            self._compare(seed, way, program, call[0], frames, oracle.stacks[call])
        return len(self.wrong) == before

    def _compare(
        self,
        seed: int,
        way: str,
        program: Program,
        tag: int,
        frames: list[tuple[Any, ...]],
        expected: list[Seen],
    ) -> None:
        self.checked += 1
        seen = [_comparable(Seen(*frame[:6])) for frame in frames]
        truth = program.truths[tag]
        place = program.place(truth.file, truth.text)
        where = f"seed {seed} ({way}), record({tag})"
        if not seen or seen[-1] != _of_place(place, seen[-1].function):
            self.wrong.append(f"{where}: {seen[-1:]} instead of {place}")
        if seen != [_comparable(frame) for frame in expected]:
            self.wrong.append(f"{where}: {seen} instead of {expected}")
        rest = iter(seen)
        for file, text in truth.calls:
            call = program.place(file, text)
            if not any(frame == _of_place(call, frame.function) for frame in rest):
                self.wrong.append(f"{where}: no frame for the call {call}")
        if way in HAS_SOURCE:
            self._compare_source(where, program, frames)

    def _compare_source(self, where: str, program: Program, frames: list[tuple[Any, ...]]) -> None:
        lines = program.files[program.main].split("\n")
        for frame in frames:
            if frame[0] == program.main and frame[6] != lines[frame[2] - 1]:
                self.wrong.append(f"{where}: {frame[6]!r} instead of {lines[frame[2] - 1]!r}")
