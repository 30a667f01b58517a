"""Whatever is called with whatever arguments: at most an exception, never the process's end."""

from __future__ import annotations

import os
from pathlib import Path

from tests.faults import interpose
from tests.support import must_fail

PROGRAM = Path(__file__).absolute().parent / "fuzz_calls.py"
SECONDS = float(os.environ.get("ONEFLOW_FUZZ_SECONDS", "4"))
SEED = os.environ.get("ONEFLOW_FUZZ_SEED", "1")

# With a machine's whole memory a size of 2 ** 32 is granted, and takes longer than a call may.
LIMIT = {"ONEFLOW_CPU_MEMORY_LIMIT": "2GiB"}

RUN = """
import runpy
sys.argv = ["", {seed!r}, {seconds!r}, {log!r}]
runpy.run_path({program!r}, run_name="__main__")
"""


def check(folder: Path, seconds: float, fault: str | None) -> None:
    """Calls for so many seconds end in nothing worse than exceptions."""
    log = folder / "last_call"
    program = RUN.format(seed=SEED, seconds=str(seconds), log=str(log), program=str(PROGRAM))
    ended, calls = interpose.run(program, fault, LIMIT, timeout=seconds + 200)
    last = log.read_text() if log.exists() else "none"
    assert interpose.forbidden(calls) == [], f"seed {SEED}, last call {last}"
    assert (ended.status, ended.stderr) == (0, ""), f"seed {SEED}, last call {last}"
    counts = ended.stdout.splitlines()[-1]  # what some functions print is before it
    made, returned, functions = map(int, counts.split())
    assert made > 100 * seconds and returned > made / 20, ended.stdout
    assert functions > 30 * seconds or functions > 1000, ended.stdout


def test_no_call_ends_the_process(tmp_path: Path) -> None:
    check(tmp_path, SECONDS, None)


def test_control(tmp_path: Path) -> None:
    """A device that is not there, as OneFlow takes it, is met within seconds."""
    must_fail(check, tmp_path, 4.0, "missing_gpu_aborts")
