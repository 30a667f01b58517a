"""One process, in every way it can end."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from bench.harness import launch
from bench.harness.launch import Outcome, metric_fault

FAKE = str(Path(__file__).with_name("fake_program.py"))


def run(mode: str, *words: str, timeout_s: float = 30.0) -> Outcome:
    """Runs the fake program."""
    return launch.launch([sys.executable, FAKE, mode, *words], dict(os.environ), timeout_s)


def test_a_good_process_delivers() -> None:
    outcome = run("good", "0.25")
    assert outcome.failure is None
    assert outcome.metrics["t"]["samples"] == [0.25]
    assert outcome.seconds > 0.0


@pytest.mark.parametrize(
    ("mode", "kind", "detail"),
    [
        ("silent", launch.NO_OUTPUT, "printed no metric"),
        ("garbled", launch.BAD_OUTPUT, "not JSON"),
        ("deep", launch.BAD_OUTPUT, "not JSON"),
        ("unchecked", launch.BAD_OUTPUT, "no result to check"),
        ("negative", launch.BAD_OUTPUT, "no positive number"),
        ("twice", launch.BAD_OUTPUT, "came twice"),
        ("crash", launch.SIGNAL, "died of SIGSEGV"),
        ("exit", launch.EXIT, "exit status 1: out of cheese"),
    ],
)
def test_a_bad_process_is_reported(mode: str, kind: str, detail: str) -> None:
    outcome = run(mode)
    assert outcome.failure is not None
    assert outcome.failure.kind == kind
    assert detail in outcome.failure.detail
    assert outcome.metrics == {}


def test_a_process_that_hangs_is_ended_in_time() -> None:
    start = time.monotonic()
    outcome = run("hang", timeout_s=0.5)
    assert outcome.failure is not None and outcome.failure.kind == launch.TIMEOUT
    assert time.monotonic() - start < 10.0


def test_a_program_that_is_not_there() -> None:
    outcome = launch.launch(["/no/such/program"], {}, 1.0)
    assert outcome.failure is not None and outcome.failure.kind == launch.START
    assert "No such file" in outcome.failure.detail


def test_nothing_that_a_process_started_outlives_it() -> None:
    pid = run("orphan").metrics["t"]["check"]["pid"]
    end = time.monotonic() + 10.0
    while _running(pid) and time.monotonic() < end:
        time.sleep(0.01)
    assert not _running(pid)


def _running(pid: int) -> bool:
    """Whether a process is there and no zombie that waits for its parent."""
    try:
        return ") Z" not in Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize(
    "change",
    [
        {"metric": 3},
        {"unit": None},
        {"samples": []},
        {"samples": ["1"]},
        {"samples": [True]},
        {"samples": [10**400]},
        {"samples": [float("inf")]},
        {"samples": 1.0},
        {"check": None},
        {"first": -1.0},
        {"import_s": "soon"},
        {"rss_beyond_import_bytes": None},
    ],
)
def test_a_faulty_line_is_refused(change: dict[str, object]) -> None:
    good = {"metric": "t", "unit": "s", "samples": [1.0], "check": {"x": 1}}
    assert metric_fault(good) is None
    assert metric_fault(good | change) is not None
