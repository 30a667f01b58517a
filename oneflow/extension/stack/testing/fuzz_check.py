"""Runs the fuzzer's programs and compares the recorded stacks with two truths.

The text of a program says where the call that failed stands, and the calls that lead to it. The
interpreter's own frame objects, looked at from below the call, say what every frame is.
"""

from __future__ import annotations

import collections
import dataclasses
import importlib
import linecache
import pathlib
import random
import sys
import zipfile
from typing import Any

import fuzz_support
import stack_helpers
import stack_testing
from fuzz_programs import Place, Program, Writer

_WAYS = ("file", "file", "file", "notebook", "notebook", "exec", "exec", "module", "zip")


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
    """Asks the interpreter for the stack of each record."""

    def __init__(self) -> None:
        self.stacks: dict[int, list[list[Seen]]] = collections.defaultdict(list)

    def __call__(self, tag: int) -> None:
        """Called by `record`, one frame below the line that called it."""
        stack = stack_helpers.true_stack(sys._getframe(1))
        self.stacks[tag].append([Seen(*position) for position in stack])


class Checker:
    """Runs programs in `folder`; counts the stacks compared, and lists what was wrong."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.checked = 0
        self.wrong: list[str] = []

    def run(self, seed: int) -> bool:
        """Writes, runs and checks one program; false when a stack was wrong."""
        before = len(self.wrong)
        way = random.Random(seed).choice(_WAYS)
        program = Writer(seed, self._name(seed, way)).program()
        oracle = Oracle()
        stack_testing.set_oracle(oracle)
        try:
            self._run(program, seed, way)
        finally:
            stack_testing.set_oracle(None)
            results = stack_testing.results()
            self._forget(program)
        recorded = collections.defaultdict(list)
        for tag, frames in results:
            recorded[tag].append(frames)
        if recorded.keys() != oracle.stacks.keys() or not recorded:
            self.wrong.append(
                f"seed {seed}: recorded {sorted(recorded)}, not {sorted(oracle.stacks)}"
            )
        for tag, stacks in recorded.items():
            for frames, expected in zip(stacks, oracle.stacks[tag], strict=True):
                self._compare(seed, way, program, tag, frames, expected)
        return len(self.wrong) == before

    def _name(self, seed: int, way: str) -> str:
        names = {
            "file": str(self.folder / f"program_{seed}.py"),
            "module": str(self.folder / f"module_{seed}.py"),
            "zip": str(self.folder / f"zip_{seed}.zip" / f"zipped_{seed}.py"),
            "notebook": f"/tmp/ipykernel_1/{seed}.py",
            "exec": f"<program {seed}>",
        }
        return names[way]

    def _run(self, program: Program, seed: int, way: str) -> None:
        text = program.files[program.main]
        fuzz_support.SOURCES.update(program.files)
        if way == "file" or way == "module":
            pathlib.Path(program.main).write_text(text, encoding="utf-8")
        if way == "notebook":
            linecache.cache[program.main] = (len(text), None, text.splitlines(True), program.main)
        if way == "zip":
            with zipfile.ZipFile(self.folder / f"zip_{seed}.zip", "w") as archive:
                archive.writestr(f"zipped_{seed}.py", text)
        if way == "module" or way == "zip":
            path = self.folder if way == "module" else self.folder / f"zip_{seed}.zip"
            self._import(str(path), pathlib.Path(program.main).stem)
        else:
            exec(compile(text, program.main, "exec"), {"__name__": "program"})

    def _import(self, path: str, name: str) -> None:
        sys.path.insert(0, path)
        importlib.invalidate_caches()
        try:
            importlib.import_module(name)
        finally:
            sys.path.remove(path)
            sys.modules.pop(name, None)

    def _forget(self, program: Program) -> None:
        linecache.cache.pop(program.main, None)
        for name in program.files:
            fuzz_support.SOURCES.pop(name, None)

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
        if way in ("file", "module", "notebook"):
            self._compare_source(where, program, frames)

    def _compare_source(self, where: str, program: Program, frames: list[tuple[Any, ...]]) -> None:
        lines = program.files[program.main].split("\n")
        for frame in frames:
            if frame[0] == program.main and frame[6] != lines[frame[2] - 1]:
                self.wrong.append(f"{where}: {frame[6]!r} instead of {lines[frame[2] - 1]!r}")
