"""What importing the package adds to the interpreter's exit, against importing NumPy only.

tools/bazel run //python/tests/exit:idle_exit -- --pairs 500
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

NUMPY = "import numpy"
PACKAGE = "import numpy, oneflow"
# The clock is the machine's, so that the parent can go on from where the program left off.
_LAST_LINE = (
    "\nimport os, time; os.write(1, b'%d %d' % (time.monotonic_ns(), time.process_time_ns()))"
)


@dataclasses.dataclass(frozen=True)
class Exit:
    """From the last line of a program to the end of its process, in seconds."""

    wall: float
    cpu: float


def exit_of(program: str) -> Exit:
    """Runs a program."""
    process = subprocess.Popen(
        [sys.executable, "-c", program + _LAST_LINE],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout is not None
    with process.stdout:
        _, status, usage = os.wait4(process.pid, 0)
        ended = time.monotonic_ns()
        wall, cpu = map(int, process.stdout.read().split())
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, process.returncode
    return Exit((ended - wall) / 1e9, usage.ru_utime + usage.ru_stime - cpu / 1e9)


@dataclasses.dataclass
class Pairs:
    """Exits of two programs, run by turns."""

    base: list[Exit]
    other: list[Exit]

    def added(self, clock: str, share: float) -> float:
        """How far the other program's quantile lies above the base's; `clock` is wall or cpu."""
        both = [
            quantile([getattr(e, clock) for e in side], share) for side in (self.base, self.other)
        ]
        return both[1] - both[0]

    def slowness(self) -> float:
        """How many times longer the base's exits take than they compute: what else runs here."""
        wall, cpu = (quantile([getattr(e, c) for e in self.base], 0.5) for c in ("wall", "cpu"))
        return max(1.0, wall / cpu)

    def __str__(self) -> str:
        load = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
        lines = [f"{len(self.base)} pairs, {load}, {self.slowness():.1f} times slowed"]
        for clock, words in (("wall", "time"), ("cpu", "processor time")):
            for name, side in (("numpy", self.base), ("numpy, oneflow", self.other)):
                values = [getattr(exit_, clock) for exit_ in side]
                lines.append(f"{name:15} exit, {words:14}: {_row(values, quantile)}")
            lines.append(f"{'oneflow adds':37}: {_row(clock, self.added)}")
        return "\n".join(lines)


def _row(what: Any, quantile_of: Callable[[Any, float], float]) -> str:
    return ", ".join(
        f"p{s * 100:.0f} {quantile_of(what, s) * 1e3:6.1f} ms" for s in (0.25, 0.5, 0.99)
    )


def quantile(values: list[float], share: float) -> float:
    """The smallest value that at least `share` of the values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, -int(-share * len(ordered) // 1) - 1))]


def measure(pairs: int, other: str = PACKAGE, base: str = NUMPY) -> Pairs:
    """Runs the two programs by turns; each first goes first in half of the pairs."""
    exit_of(base), exit_of(other)  # the files come into the page cache
    result = Pairs([], [])
    for number in range(pairs):
        turns = [(base, result.base), (other, result.other)]
        for program, exits in turns if number % 2 == 0 else turns[::-1]:
            exits.append(exit_of(program))
    return result


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=200)
    print(measure(parser.parse_args().pairs))


if __name__ == "__main__":
    main()
