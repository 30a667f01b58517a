"""The table of verdicts, and how often the whole rule is wrong."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from bench.harness.estimate import Floats, Interval
from bench.harness.tests import synthetic
from bench.harness.verdict import (
    FASTER,
    HOST_INVALID,
    INCONCLUSIVE,
    SAME,
    SLOWER,
    Comparison,
    Policy,
    apply_controls,
    compare,
    judge,
)

QUICK = Policy(family_rate=0.05, control_rate=0.05, resamples=300, looks=2)
WIDE = Interval(-math.inf, math.inf)


def made(
    interval: Interval, spent: float, exact: Interval | None = None, looks: int = 1
) -> Comparison:
    """A comparison with these figures, not judged yet."""
    return Comparison(10, looks, 0.0, 0.0, interval, exact or interval, spent, spent)


@pytest.mark.parametrize(
    ("comparison", "verdict"),
    [
        (made(Interval(0.02, 0.04), 0.001), SLOWER),
        (made(Interval(-0.04, -0.02), 0.001), FASTER),
        (made(Interval(-0.005, 0.005), 0.5), SAME),
        (made(Interval(0.002, 0.008), 0.001), SAME),
        (made(Interval(0.002, 0.03), 0.001), SLOWER),
        (made(Interval(-0.005, 0.03), 0.5), INCONCLUSIVE),
        (made(Interval(-0.03, 0.03), 0.5), INCONCLUSIVE),
        (made(Interval(0.02, 0.04), 0.06), INCONCLUSIVE),
        (made(Interval(-0.001, 0.04), 0.001), INCONCLUSIVE),
        (made(Interval(-0.005, 0.005), 0.5, exact=WIDE), INCONCLUSIVE),
        (made(Interval(-0.005, 0.005), 1.0, looks=0), INCONCLUSIVE),
        (made(WIDE, 1.0, looks=0), INCONCLUSIVE),
    ],
)
def test_verdict_table(comparison: Comparison, verdict: str) -> None:
    assert judge({"row": comparison}, 0.05, 0.01)["row"].verdict == verdict


def test_each_row_may_have_a_tolerance_of_its_own() -> None:
    rows = dict.fromkeys(("time", "first"), made(Interval(0.02, 0.04), 0.001))
    judged = judge(rows, 0.05, {"time": 0.01, "first": 0.05})
    assert {name: c.verdict for name, c in judged.items()} == {"time": SLOWER, "first": SAME}


def test_other_rows_raise_the_bar() -> None:
    row = made(Interval(0.02, 0.04), 0.04)
    alone = judge({"a": row}, 0.05, 0.01)["a"]
    among = judge({"a": row, "b": made(WIDE, 0.9)}, 0.05, 0.01)["a"]
    planned = judge({"a": row}, 0.05, 0.01, planned=2)["a"]
    assert (alone.verdict, among.verdict, planned.verdict) == (SLOWER, INCONCLUSIVE, INCONCLUSIVE)
    assert among.adjusted == pytest.approx(0.08)


@pytest.mark.parametrize(
    ("control", "verdict"),
    [(SLOWER, HOST_INVALID), (FASTER, HOST_INVALID), (SAME, SLOWER), (INCONCLUSIVE, SLOWER)],
)
def test_a_control_that_disagrees_makes_the_host_invalid(control: str, verdict: str) -> None:
    row = replace(made(Interval(0.02, 0.04), 0.001), verdict=SLOWER)
    rows = apply_controls({"a": row, "b": row}, {"a": replace(row, verdict=control)})
    assert (rows["a"].verdict, rows["b"].verdict) == (verdict, SLOWER)


def test_pairs_past_the_last_look_are_not_used() -> None:
    schedule = QUICK.schedule(1)
    values = np.random.default_rng(1).normal(0.0, 0.01, schedule.pairs[0] + 1)
    late = values.copy()
    late[-1] = 50.0
    assert compare(values, QUICK, schedule) == compare(late, QUICK, schedule)


def test_too_few_pairs_show_figures_but_no_verdict() -> None:
    found = compare([0.5, 0.6, 0.7], QUICK, QUICK.schedule(1))
    assert found.estimate == pytest.approx(0.6)
    assert (found.looks, found.p, found.spent) == (0, 1.0, 1.0)
    assert judge({"a": found}, 0.05, 0.01)["a"].verdict == INCONCLUSIVE


@pytest.mark.parametrize(
    "fault",
    [
        {"family_rate": 0.0},
        {"confidence": 1.0},
        {"tolerance": 0.0},
        {"growth": 1.0},
        {"looks": 0},
        {"resamples": 5},
    ],
)
def test_a_policy_out_of_range_is_refused(fault: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="policy"):
        Policy(**fault)  # type: ignore[arg-type]


def collect(rows: Floats, rate: float, policy: Policy = QUICK) -> list[str]:
    """The procedure of the runner: look, stop what is decided, go on with the rest."""
    schedule = policy.schedule(len(rows))
    current: dict[str, Comparison] = {}
    decided: set[str] = set()
    for pairs in schedule.pairs:
        for index, row in enumerate(rows):
            if str(index) not in decided:
                current[str(index)] = compare(row[:pairs], policy, schedule, index)
        judged = judge(current, rate, policy.log_tolerance)
        decided = {name for name, c in judged.items() if c.verdict != INCONCLUSIVE}
    return [c.verdict for c in judged.values()]


def shares(host: str, shift: float, experiments: int = 400, rows: int = 2) -> dict[str, float]:
    """How often each verdict is given to any of a family's rows."""
    rng, counts = np.random.default_rng(3), dict.fromkeys((SLOWER, FASTER, SAME), 0)
    pairs = QUICK.schedule(rows).pairs[-1]
    for _ in range(experiments):
        verdicts = collect(getattr(synthetic, host)(rng, rows, pairs, shift), QUICK.family_rate)
        for name in counts:
            counts[name] += name in verdicts
    return {name: count / experiments for name, count in counts.items()}


HOSTS = ["normal_pairs", "heavy_pairs", "skewed_pairs", "drifting_pairs"]


@pytest.mark.parametrize("host", HOSTS)
def test_equal_programs_are_hardly_ever_called_different(host: str) -> None:
    """This is also the false-alarm rate of "host invalid": a control obeys the same rule."""
    found = shares(host, 0.0)
    assert found[SLOWER] + found[FASTER] <= 0.05 + 4.0 * math.sqrt(0.05 * 0.95 / 400)


@pytest.mark.parametrize("host", HOSTS)
def test_a_difference_beyond_the_tolerance_is_hardly_ever_called_same(host: str) -> None:
    found = shares(host, 1.01 * QUICK.log_tolerance, rows=1)
    assert found[SAME] <= 0.05 + 4.0 * math.sqrt(0.05 * 0.95 / 400)


def test_power_a_real_difference_is_found_and_in_its_direction() -> None:
    slower, faster = (shares("normal_pairs", s, experiments=150, rows=1) for s in (0.03, -0.03))
    assert slower[SLOWER] > 0.95 and slower[FASTER] == 0.0
    assert faster[FASTER] > 0.95 and faster[SLOWER] == 0.0


def test_power_equal_programs_on_a_quiet_host_are_called_same() -> None:
    rng, pairs = np.random.default_rng(4), QUICK.schedule(1).pairs[-1]
    rows = rng.normal(0.0, 0.002, (100, 1, pairs))
    assert sum(collect(row, 0.05) == [SAME] for row in rows) > 95


@pytest.mark.parametrize("host", HOSTS)
def test_a_fair_host_is_hardly_ever_called_invalid(host: str) -> None:
    """The chance that any row of a family is lost to its control is the control's rate."""
    rng, schedule, names = np.random.default_rng(7), QUICK.schedule(2), ("a", "b")
    invalid = 0
    for _ in range(400):
        data = getattr(synthetic, host)(rng, 2, schedule.pairs[-1])
        controls = {n: compare(row, QUICK, schedule) for n, row in zip(names, data)}
        judged = judge(controls, QUICK.control_rate, QUICK.log_tolerance)
        rows = apply_controls(dict.fromkeys(names, made(WIDE, 1.0)), judged)
        invalid += any(row.verdict == HOST_INVALID for row in rows.values())
    assert invalid / 400 <= 0.05 + 4.0 * math.sqrt(0.05 * 0.95 / 400)


def test_a_biased_host_is_noticed_by_its_control() -> None:
    """The second process of a pair always runs 3 % slower: both head and control see it."""
    rng, schedule = np.random.default_rng(5), QUICK.schedule(1)
    invalid = 0
    for _ in range(100):
        head, control = rng.normal(0.03, 0.01, (2, schedule.pairs[0]))
        row = judge({"a": compare(head, QUICK, schedule)}, QUICK.family_rate, 0.01)
        check = judge({"a": compare(control, QUICK, schedule)}, QUICK.control_rate, 0.01)
        invalid += apply_controls(row, check)["a"].verdict == HOST_INVALID
    assert invalid > 90


def test_a_fixed_threshold_on_one_run_fails_the_false_alarm_test() -> None:
    """A planted fault: one run of each variant, slower by more than the tolerance is slower."""
    rows = synthetic.heavy_pairs(np.random.default_rng(6), 300, 1)
    assert float(np.mean(np.abs(rows) > QUICK.log_tolerance)) > 0.2
