"""The rates that were promised, by the calibration itself on simulated timings.

What `calibrate` does on a real machine is done here on one whose truth is known: 200 comparisons of
a commit with itself, heads that are slower by 1.5, 3 and 6 %, and the same beside a busy core. Two
faults are planted, which these bounds must catch: a guard that looks away, and a control of none.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from bench.harness.launch import Outcome
from ci.perf_bot import budget, calibrate, calibration, decide, guard
from ci.perf_bot.cases import TOLERANCES
from ci.perf_bot.schema import FASTER, FIGURES, HOST_INVALID, INCONCLUSIVE, SAME, SLOWER, TIME

Json = dict[str, Any]
KINDS = {kind.name: kind for kind in calibrate.KINDS}


class Machine:
    """A quiet machine: a process has its luck, now and then bad luck; its steps share it."""

    def __init__(self, seed: int, foreign: float) -> None:
        self.draw, self.foreign, self.now = random.Random(seed), foreign, 0.0

    def luck(self) -> float:
        """The log factor of a process: 0.3 %, one in twenty times four times that."""
        return self.draw.gauss(0.0, 0.012 if self.draw.random() < 0.05 else 0.003)

    def launcher(self, command: Sequence[str], env: Mapping[str, str], timeout_s: float) -> Outcome:
        """The fast case; its last word is the factor."""
        self.now += 0.04
        cost = 0.004 * float(command[-1]) * math.exp(self.luck())
        steps = [cost * math.exp(self.draw.gauss(0.0, 0.002)) for _ in range(5)]
        line = {
            "metric": "step_time",
            "unit": "s",
            "samples": steps,
            "first": cost * 1.1 * math.exp(self.draw.gauss(0.0, 0.01)),
            "rss_beyond_import_bytes": (8 << 20) + 4096 * self.draw.randrange(4),
            "check": {"value": 1},
        }
        return Outcome(0.04, {"step_time": line})

    def moment(self) -> guard.Moment:
        """Clocks of two cores."""
        busy = (1.0 + 2.0 * self.foreign) * self.now
        return guard.Moment(2.0 * self.now, busy, 0.0, self.now)

    def clock(self) -> float:
        """The simulated time."""
        return self.now


def compared(name: str, count: int) -> list[Json]:
    """Comparisons of one kind."""
    found = []
    for index in range(count):
        machine = Machine(index, 0.5 if KINDS[name].load else 0.01)
        found.append(
            calibrate.compare_once(
                KINDS[name],
                index,
                TOLERANCES[TIME],
                launcher=machine.launcher,
                clock=machine.clock,
                moment=machine.moment,
            )
        )
    return found


@pytest.fixture(name="itself", scope="module")
def fixture_itself() -> list[Json]:
    """200 comparisons of a commit with itself."""
    return compared("itself", 200)


def test_a_commit_against_itself(itself: list[Json]) -> None:
    called = [x for x in itself if {SLOWER, FASTER} & set(x["verdicts"].values())]
    open_or_lost = [x for x in itself if {INCONCLUSIVE, HOST_INVALID} & set(x["verdicts"].values())]
    assert len(called) <= 2
    assert len(open_or_lost) <= 20
    assert calibration.counts(itself)[SAME] >= 180


@pytest.mark.parametrize("name", ["1.5 % slower", "3 % slower", "6 % slower"])
def test_slower_heads_are_found_as_often_as_promised(itself: list[Json], name: str) -> None:
    count, factor = 60, KINDS[name].factor
    found = calibration.counts(compared(name, count))
    schedule = budget.fit_schedule(decide.POLICY, len(FIGURES), None)
    assert schedule is not None
    promised = budget.power(
        [x for line in itself for x in line["noise"]],
        math.log(factor),
        decide.POLICY,
        schedule,
        len(FIGURES),
        math.log1p(TOLERANCES[TIME]),
        draws=300,
    )
    # The promise is simulated as well: two binomial shares, compared at four standard errors.
    share = (found[SLOWER] + 300 * promised.slower) / (count + 300)
    error = math.sqrt(max(share * (1.0 - share), 1e-3) * (1.0 / count + 1.0 / 300))
    assert abs(found[SLOWER] / count - promised.slower) <= 4.0 * error
    if factor >= 1.03:
        assert found[SLOWER] >= 57 and found[SAME] == 0
    assert found[FASTER] == 0


def test_beside_a_busy_core_the_host_is_invalid() -> None:
    lines = compared("itself, under load", 10) + compared("6 % slower, under load", 10)
    assert calibration.counts(lines)[HOST_INVALID] == 20


def test_a_guard_that_looks_away_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: the same comparisons are then called, and nobody knows of the load."""
    monkeypatch.setattr(guard, "complaint", lambda *_: None)
    lines = compared("6 % slower, under load", 10)
    assert calibration.counts(lines)[HOST_INVALID] < 20 and calibration.counts(lines)[SLOWER] > 0


def test_a_single_run_with_a_threshold_is_caught(itself: list[Json]) -> None:
    """A planted fault, and what other bots do: one pair, slower by the tolerance is slower."""
    called = [x for x in itself if abs(x["noise"][0]) > math.log1p(TOLERANCES[TIME])]
    assert len(called) > 2
