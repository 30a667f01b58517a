"""Runs programs with a watch over whoever ends the process: interpose.cc, loaded in front of them.

Thread safety: plain functions.
"""

from __future__ import annotations

import dataclasses
import re
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.faults import faulty

LIBRARY = Path(__file__).absolute().parent / "libinterpose.so"
OURS = re.compile(r"/_oneflow_internal[^/]*\.so$")
# The one function that may end the process, once the deadline is over or an error was never read.
ALLOWED = "oneflow::lifetime::EndProcess"


@dataclasses.dataclass(frozen=True)
class Call:
    """A call that ends the process.

    Attributes:
        function: `abort`, `terminate`, ...
        frames: (path of the module, offset in it), innermost first
    """

    function: str
    frames: tuple[tuple[str, int], ...]

    def ours(self) -> bool:
        """Is there a frame of the extension module?"""
        return any(OURS.search(module) for module, _ in self.frames)

    def by(self) -> str:
        """The function of the extension module that is innermost, as its symbol table says."""
        for module, offset in self.frames:
            if OURS.search(module):
                return _function_at(module, offset)
        return ""


def parse(log: str) -> list[Call]:
    """What interpose.cc has written."""
    calls = []
    for line in log.splitlines():
        function, *frames = line.split("\t")
        split = [frame.rpartition("+") for frame in frames]
        calls.append(Call(function, tuple((module, int(at)) for module, _, at in split)))
    return calls


def _function_at(module: str, offset: int) -> str:
    """The function of a module's symbol table that holds the offset."""
    table = subprocess.run(
        ["nm", "--demangle", "--defined-only", module], capture_output=True, text=True, check=True
    )
    best, name = -1, ""
    for line in table.stdout.splitlines():
        at, kind, symbol = line.split(" ", 2)
        if kind in "tTwW" and best < int(at, 16) < offset:
            best, name = int(at, 16), symbol
    return name


def run(
    program: str,
    fault: str | None = None,
    more: Mapping[str, str] | None = None,
    timeout: float = 60,
) -> tuple[faulty.Ended, list[Call]]:
    """As `faulty.run`, with the calls that ended the process or tried to."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        watch = {"LD_PRELOAD": str(LIBRARY), "ONEFLOW_INTERPOSE_LOG": str(log)}
        ended = faulty.run(program, fault, {**watch, **(more or {})}, timeout)
        return ended, parse(log.read_text() if log.exists() else "")


def forbidden(calls: list[Call]) -> list[str]:
    """Calls from our code, the one place left out."""
    ours = [call for call in calls if call.ours()]
    return [
        f"{call.function} by {call.by()}"
        for call in ours
        if not (call.function == "_exit" and call.by().startswith(ALLOWED))
    ]
