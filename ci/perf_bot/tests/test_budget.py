"""The arithmetic of budgets, against brute force; simulated runs that obey them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bench.harness.launch import Outcome
from bench.harness.sequential import Schedule
from bench.harness.signed_rank import signed_rank_p
from bench.harness.verdict import Policy
from ci.perf_bot import budget, decide, measure, record
from ci.perf_bot.schema import BASE, BASE_AGAIN, HEAD
from ci.perf_bot.tests.simulated import Simulated, case, complete, make_session, normal, run

BOT = decide.POLICY
ALIKE = {BASE: 1.0, HEAD: 1.0, BASE_AGAIN: 1.0}


@pytest.mark.parametrize("comparisons", [1, 3, 18, 100])
@pytest.mark.parametrize("most", [None, 5, 12, 17, 20, 40, 400])
def test_a_schedule_can_call_and_spends_no_more_than_all(
    comparisons: int, most: int | None
) -> None:
    schedule = budget.fit_schedule(BOT, comparisons, most)
    if schedule is None:
        # Not even one look at the whole rate is possible with so few pairs.
        assert most is not None and 2.0 ** (1 - most) > BOT.family_rate / comparisons
        return
    assert sum(schedule.weights) <= 1.0 + 1e-12
    assert list(schedule.pairs) == sorted(set(schedule.pairs))
    assert len(schedule.pairs) == len(schedule.weights) <= BOT.looks
    smallest = 2.0 ** (1 - schedule.pairs[0])
    assert smallest <= BOT.family_rate * schedule.weights[0] / comparisons
    if most is not None:
        assert schedule.pairs[-1] == most


def test_the_dearest_program_goes_while_nothing_fits() -> None:
    seconds, sizes = {"a": 10.0, "b": 100.0, "c": 20.0}, {"a": 3, "b": 3, "c": 3}
    whole = budget.fit(BOT, seconds, sizes, 40 * 130.0)
    assert (whole.kept, whole.dropped) == (("a", "b", "c"), ())
    assert whole.schedule is not None and whole.schedule.pairs[-1] == 40
    # 18 rounds of a and c take 540 s; no 13 rounds of all three would fit into 1,000 s.
    some = budget.fit(BOT, seconds, sizes, 1000.0)
    assert (some.kept, some.dropped) == (("a", "c"), ("b",))
    none = budget.fit(BOT, seconds, sizes, 60.0)
    assert (none.kept, none.schedule) == ((), None)
    assert none.needed_s == 130.0 * next(n for n in range(99) if 2.0 ** (1 - n) <= 0.002 / 9)


def test_without_a_budget_everything_is_kept() -> None:
    found = budget.fit(BOT, {"a": 1e6}, {"a": 3}, None)
    assert found.kept == ("a",) and found.schedule is not None
    assert len(found.schedule.pairs) == BOT.looks


@pytest.mark.parametrize("pairs", [12, 20, 60])
def test_reach_is_the_power_that_brute_force_finds(pairs: int) -> None:
    threshold = 0.002 / 3
    shift = budget.reach(pairs, threshold)
    rng = np.random.default_rng(5)
    found = [signed_rank_p(shift + rng.standard_normal(pairs)) <= threshold for _ in range(1500)]
    assert np.mean(found) == pytest.approx(budget.POWER, abs=0.02)


def test_reach_joins_the_formula_and_falls_with_the_pairs() -> None:
    found = [budget.reach(n, 1e-3) for n in (9, 11, 15, 30, 150, 151, 400)]
    assert found == sorted(found, reverse=True)
    assert found[0] == math.inf
    assert found[4] == pytest.approx(found[5], rel=0.03)


def test_resolvable_falls_with_pairs_and_grows_with_spread_and_rows() -> None:
    few, many = Schedule((20,), (1.0,)), Schedule((80,), (1.0,))
    base = budget.resolvable(0.01, few, 0.002, 3)
    assert budget.resolvable(0.01, many, 0.002, 3) < base / 1.7
    assert budget.resolvable(0.02, few, 0.002, 3) == pytest.approx(2.0 * base)
    assert budget.resolvable(0.01, few, 0.002, 30) > base
    assert [s for s, _ in budget.table((0.01, 0.02), few, 0.002, 3)] == [0.01, 0.02]


def test_power_counts_all_verdicts() -> None:
    noise = np.random.default_rng(1).normal(0.0, 0.01, 400)
    policy = replace(BOT, resamples=200, looks=2)
    schedule = budget.fit_schedule(policy, 1, None)
    assert schedule is not None
    nothing, some, much = (
        budget.power(noise, s, policy, schedule, 1, math.log1p(0.01), draws=60)
        for s in (0.0, 0.01, 0.06)
    )
    for found in (nothing, some, much):
        shares = (found.slower, found.faster, found.same, found.inconclusive)
        assert sum(shares) == pytest.approx(1.0)
    assert (nothing.slower, much.slower) == (0.0, 1.0)
    assert 0.0 < some.slower < 1.0
    assert schedule.pairs[0] <= much.pairs < some.pairs <= schedule.pairs[-1]


def test_a_run_keeps_to_its_budget() -> None:
    machine = Simulated(ALIKE, normal(0.2), seconds=10.0)
    made = run([case()], machine, replace(BOT, resamples=100), budget_s=30.0 * 25)
    assert made["schedule"]["pairs"][-1] == 25
    assert machine.now == 30.0 * 25
    assert record.result_of(made)["budget"]["used_minutes"] == pytest.approx(12.5)


def test_a_run_that_gets_slower_than_its_first_round_is_cut_off() -> None:
    class Slowing(Simulated):
        def __call__(self, *args: Any) -> Outcome:
            self.seconds = 10.0 if len(self.calls) < 6 else 40.0
            return super().__call__(*args)

    machine = Slowing(ALIKE, normal(0.2))
    run([case()], machine, replace(BOT, resamples=100), budget_s=30.0 * 40)
    assert 30.0 * 40 < machine.now <= 1.15 * 30.0 * 40 + 120.0


def test_a_budget_that_suffices_for_some_rows_measures_those() -> None:
    cases = [case("dear"), case("cheap")]

    class Uneven(Simulated):
        def __call__(self, *args: Any) -> Outcome:
            self.seconds = 100.0 if args[2] == 999.0 else 1.0
            return super().__call__(*args)

    machine = Uneven(ALIKE)
    session, plan = make_session(cases, machine, replace(BOT, resamples=100), 900.0)
    programs = [replace(p, timeout_s=999.0) if p.name == "dear" else p for p in plan.programs]
    collector = session.collect(replace(plan, programs=programs))
    result = record.result_of(complete(measure.record_of(session, collector), cases))
    assert [row["case"] for row in result["rows"]] == ["cheap"]
    assert [(e["kind"], e["case"]) for e in result["errors"]] == [("dropped", "dear")]
    assert (result["status"], result["policy"]["comparisons"]) == ("ok", 3)


def test_a_budget_that_suffices_for_nothing_says_what_would() -> None:
    result = record.result_of(run([case()], Simulated(ALIKE), BOT, budget_s=20.0))
    assert (result["status"], result["rows"]) == ("nothing measured", [])
    assert [(e["stage"], e["kind"]) for e in result["errors"]] == [("budget", "dropped")]
    fewest = next(n for n in range(99) if 2.0 ** (1 - n) <= 0.002 / 3)
    assert result["budget"]["needed_minutes"] == pytest.approx(3.0 * fewest / 60.0)


def test_durations_alone_choose_the_looks() -> None:
    """The same durations with other costs give the same schedule."""
    policy = Policy(family_rate=0.002, resamples=100)
    found = [
        run([case()], Simulated(costs), policy, budget_s=100.0)["schedule"]
        for costs in (ALIKE, {**ALIKE, HEAD: 2.0})
    ]
    assert found[0] == found[1]
