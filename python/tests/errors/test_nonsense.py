"""Random nonsense at every public function: exceptions, and nothing else. See nonsense.py."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SECONDS = float(os.environ.get("ONEFLOW_TEST_NONSENSE_SECONDS", "3"))
SEEDS = range(int(os.environ.get("ONEFLOW_TEST_NONSENSE_SEEDS", "2")))


def run(seed: int, folder: Path, program: str = "-m tests.errors.nonsense") -> str:
    """What the run prints; an AssertionError if its process died, or met a bug of ours."""
    log = folder / "last_call"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", *program.split(" ", 1), str(seed), str(SECONDS), str(log)],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "ONEFLOW_CPU_MEMORY_LIMIT": str(1 << 30),
        },
        cwd=folder,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=100 + 20 * SECONDS,
    )
    last = log.read_text().strip() if log.exists() else "none"
    assert done.returncode == 0, f"status {done.returncode} at {last}:\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.mark.parametrize("seed", SEEDS)
def test_nonsense_raises_exceptions_only(seed: int, tmp_path: Path) -> None:
    printed = run(seed, tmp_path)
    calls, functions = (int(word) for word in printed.split() if word.isdigit())
    assert calls > 100 * SECONDS  # a tenth of what a busy machine does
    assert functions > 300


CRASHES = """-c
import os, sys
sys.path[:0] = os.environ["PYTHONPATH"].split(os.pathsep)
import oneflow as flow
from tests.errors import nonsense
def control(*args, **kwargs): {fault}
nonsense.callables = lambda: {{"control": control}}
nonsense.main()
"""


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("os.abort()", "status -6 at control"),
        ("raise flow.InternalError('x')", "status 1 at control"),
        ("raise SystemError('x')", "status 1 at control"),
    ],
)
def test_control(fault: str, message: str, tmp_path: Path) -> None:
    """A call that kills the process, and a bug of ours, are noticed, with the call."""
    option, program = CRASHES.format(fault=fault).split("\n", 1)
    with pytest.raises(AssertionError, match=message):
        run(0, tmp_path, f"{option} {program}")
