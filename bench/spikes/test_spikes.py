"""Each spike still runs, and its own checks of the results pass; no time is judged here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SPIKES = Path("bench/spikes").absolute()  # a test starts in the root of its runfiles


def run(*command: str) -> str:
    """Standard output of a command that must succeed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("section", ["throughput", "latency"])
def test_handoff(section: str) -> None:
    options = ("--rounds", "1", "--section", section, "--only", "0")
    assert "ring+adaptive" in run(str(SPIKES / "handoff"), *options)


@pytest.mark.parametrize("direction", ["0", "1", "2"])
def test_convolution_layouts(direction: str) -> None:
    # One thread: where others hold the cores, a parallel region costs a scheduler's time slice.
    options = ("--threads", "1", "--batch", "1", "--rounds", "1", "--direction", direction)
    assert "nChw16c" in run(str(SPIKES / "conv_layout"), *options)


def test_omp_wait() -> None:
    median, mean = run(str(SPIKES / "omp_wait"), "--child", "1000", "0").split()
    assert float(median) > 0 and float(mean) > 0


def test_binding() -> None:
    script = SPIKES / "binding" / "measure.py"
    path = f"import runpy, sys; sys.path.insert(0, {str(script.parent)!r}); sys.argv = sys.argv[1:]"
    program = f"{path}; runpy.run_path({str(script)!r}, run_name='__main__')"
    table = run(sys.executable, "-c", program, "measure", "--rounds", "2", "--calls", "2000")
    assert "C API, nb_add: x + y" in table
