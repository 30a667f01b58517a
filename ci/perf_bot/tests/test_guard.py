"""The guard: clocks from /proc, others' share of the machine, real load seen for what it is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.harness.launch import Failure, Outcome, launch
from ci.perf_bot.guard import (
    FIELD,
    Limits,
    Moment,
    Shares,
    between,
    complaint,
    moment,
    parse_stat,
    shares,
    wait_until_quiet,
    watched,
)

STAT = """cpu  300 0 100 500 100 0 0 0 0 0
cpu0 200 10 50 300 40 5 5 20 7 0
cpu1 100 0 50 200 60 0 0 0 0 0
intr 1 2 3
"""


def test_clocks_are_those_of_the_usable_cores() -> None:
    assert parse_stat(STAT, [0], 100) == (6.3, 2.7, 0.2)
    assert parse_stat(STAT, [0, 1], 100) == pytest.approx((10.4, 4.2, 0.2))


@pytest.mark.parametrize("text", ["", "cpu 1 2 3", "cpu0 1 2 3", "intr 5"])
def test_a_kernel_that_does_not_tell_is_unknown(text: str, tmp_path: Path) -> None:
    assert parse_stat(text, [0], 100) is None
    assert moment(tmp_path) is None
    assert between(None, Moment(1.0, 1.0, 0.0, 0.0)) is None


def rounds(total: float, busy: float, steal: float, own: float) -> list[dict[str, object]]:
    """One round of one process with these clocks."""
    machine = {"total": total, "busy": busy, "steal": steal, "own": own}
    runs = {"head": {"metrics": {"t": {FIELD: machine}, "u": {FIELD: machine}}}}
    return [{"program": "p", "runs": runs}]


def test_what_is_busy_and_not_ours_is_others() -> None:
    collected = rounds(2.0, 1.5, 0.1, 1.0) + rounds(2.0, 1.0, 0.1, 1.1)
    found = shares(collected, ["p"])
    # One process ran against a core of others, in the other the ticks came up short.
    assert (found.foreign, found.steal) == pytest.approx((0.1, 0.05))
    assert shares(collected, ["another"]) == Shares(None, None)
    assert shares([], ["p"]) == Shares(None, None)


@pytest.mark.parametrize(
    ("found", "usable", "words"),
    [
        (Shares(None, None), 2, None),
        (Shares(0.04, 0.01), 2, None),
        (Shares(0.06, 0.0), 2, "others used 6 %"),
        (Shares(0.02, 0.0), 64, "others used 2 %"),
        (Shares(0.0, 0.2), 2, "the hypervisor took 20 %"),
    ],
)
def test_complaints(found: Shares, usable: int, words: str | None) -> None:
    text = complaint(found, usable, Limits())
    assert (text is None) == (words is None)
    assert words is None or (text or "").startswith(words)


def test_each_line_is_told_what_the_machine_did() -> None:
    moments = iter([Moment(1.0, 1.0, 0.0, 0.0), Moment(3.0, 2.0, 0.5, 0.75)])
    inner = Outcome(1.0, {"t": {"samples": [1.0]}, "u": {"samples": [2.0]}})
    found = watched(lambda *_: inner, lambda: next(moments))(["x"], {}, 1.0)
    passed = {"total": 2.0, "busy": 1.0, "steal": 0.5, "own": 0.75}
    assert found.metrics == {
        "t": {"samples": [1.0], FIELD: passed},
        "u": {"samples": [2.0], FIELD: passed},
    }
    assert inner.metrics["t"] == {"samples": [1.0]}


def test_unknown_clocks_and_failures_pass_through() -> None:
    good = Outcome(1.0, {"t": {"samples": [1.0]}})
    assert watched(lambda *_: good, lambda: None)(["x"], {}, 1.0) == good
    bad = Outcome(1.0, failure=Failure("exit", "status 1"))
    assert watched(lambda *_: bad)(["x"], {}, 1.0).failure == bad.failure


def test_waiting_ends_with_quiet_or_with_patience() -> None:
    clock = iter(range(1000))

    def at(loud: int) -> Moment:
        """The clocks of a machine of one core that is busy until a moment."""
        now = next(clock)
        return Moment(float(now), float(min(now, loud)), 0.0, 0.0)

    assert wait_until_quiet(60.0, 0.0, now=lambda: at(5)) is None
    assert 5 <= next(clock) <= 9
    text = wait_until_quiet(0.0, 0.0, now=lambda: at(1000))
    assert text is not None and text.startswith("others used 100 %")
    assert wait_until_quiet(0.0, 0.0, now=lambda: None) is None


SPIN = (
    "import json, time; end = time.monotonic() + 1.0; exec('while time.monotonic() < end: pass');"
    "print(json.dumps({'metric': 't', 'unit': 's', 'samples': [1.0], 'check': {'x': 1}}))"
)


def test_a_process_of_ours_is_not_others_but_a_burner_is() -> None:
    """On one core, which tests beside this one may use too: what they use is others' as well."""
    usable = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(usable)})
    burner = None
    try:
        alone = machine_of_a_spin()
        assert 0.1 < alone["own"] <= alone["busy"] + 0.05 <= alone["total"] + 0.1
        burner = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        runs = {"head": {"metrics": {"t": {FIELD: machine_of_a_spin()}}}}
        found = shares([{"program": "p", "runs": runs}], ["p"])
        # Two that want a core get half of it each, three a third.
        assert found.foreign is not None and found.foreign > 0.3
        assert complaint(found, 1) is not None
    finally:
        os.sched_setaffinity(0, usable)
        if burner is not None:
            burner.kill()
            burner.wait()


def machine_of_a_spin() -> dict[str, float]:
    """What the machine did while a process span for a second."""
    outcome = watched(launch)([sys.executable, "-c", SPIN], dict(os.environ), 60.0)
    assert outcome.failure is None
    machine: dict[str, float] = outcome.metrics["t"][FIELD]
    return machine
