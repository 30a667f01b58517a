"""Spending, Holm, minimum pairs; the family-wise rate of the whole procedure."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from bench.harness.sequential import (
    Schedule,
    holm,
    make_schedule,
    minimum_pairs,
    pairs_needed,
    spent_p,
)
from bench.harness.signed_rank import signed_rank_p, smallest_p
from bench.harness.tests import synthetic


@pytest.mark.parametrize("rate", [0.05, 0.01, 0.002])
@pytest.mark.parametrize("rows", [1, 2, 10, 100])
@pytest.mark.parametrize("weight", [1.0, 1.0 / 3.0])
def test_minimum_pairs_are_the_fewest_that_can_reject(
    rate: float, rows: int, weight: float
) -> None:
    pairs = minimum_pairs(rate, rows, weight)
    assert smallest_p(pairs) <= rate * weight / rows < smallest_p(pairs - 1)


@pytest.mark.parametrize("rate", [0.0, 1.0, -0.1, math.nan])
def test_a_rate_that_is_none_is_refused(rate: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        minimum_pairs(rate)


def test_a_first_look_can_call_a_row() -> None:
    schedule = make_schedule(0.01, rows=5, looks=4)
    all_agree = [1.0 + i for i in range(schedule.pairs[0])]
    spent = spent_p([signed_rank_p(all_agree)], schedule.weights)
    assert holm([spent], rows=5)[0] <= 0.01


def test_a_schedule_spends_no_more_than_all() -> None:
    for looks, rows, bound in itertools.product((1, 2, 5), (1, 20), (None, 5, 30)):
        schedule = make_schedule(0.01, rows, looks, max_pairs=bound)
        assert sum(schedule.weights) <= 1.0 + 1e-12
        assert list(schedule.pairs) == sorted(set(schedule.pairs))
        assert len(schedule.pairs) == len(schedule.weights) >= 1


def test_a_bound_below_the_minimum_still_leaves_one_look() -> None:
    assert make_schedule(0.01, rows=1, looks=3, max_pairs=2).pairs == (10,)


def test_looks_done() -> None:
    schedule = Schedule((10, 16, 26), (0.3, 0.3, 0.4))
    assert [schedule.done(n) for n in (0, 9, 10, 15, 16, 100)] == [0, 0, 1, 1, 2, 3]


def brute_holm(p_values: list[float], rate: float) -> set[int]:
    """Holm's procedure as he wrote it: reject while the smallest left is small enough."""
    left, rejected = set(range(len(p_values))), set()
    while left:
        smallest = min(left, key=p_values.__getitem__)
        if p_values[smallest] > rate / len(left):
            break
        left.remove(smallest)
        rejected.add(smallest)
    return rejected


def test_holm_rejects_what_the_procedure_rejects() -> None:
    rng = np.random.default_rng(1)
    for _ in range(300):
        p_values = [float(p) for p in rng.random(5) ** 4]
        adjusted = holm(p_values)
        assert {i for i, p in enumerate(adjusted) if p <= 0.05} == brute_holm(p_values, 0.05)


def test_holm_counts_rows_that_are_planned_but_missing() -> None:
    assert holm([0.01], rows=10) == [pytest.approx(0.1)]


def test_spent_p_only_falls() -> None:
    weights = (0.25, 0.25, 0.5)
    found = [spent_p(p, weights) for p in ([], [0.02], [0.02, 0.5], [0.02, 0.5, 0.001])]
    assert found == [1.0, 0.08, 0.08, 0.002]


def test_pairs_needed_are_the_published_constants() -> None:
    assert pairs_needed(0.1, 0.01, 0.05, 0.8) == 785
    assert pairs_needed(0.1, 0.01, 0.002, 0.95) == pytest.approx(2240, abs=4)


def alarms(spend: bool, experiments: int = 1500, rows: int = 3, rate: float = 0.05) -> float:
    """The share of null experiments in which any row is called at any look."""
    schedule = make_schedule(rate, rows, looks=4, growth=1.5)
    rng, count = np.random.default_rng(2), 0
    weights = schedule.weights if spend else (1.0,) * len(schedule.pairs)
    for _ in range(experiments):
        data = synthetic.heavy_pairs(rng, rows, schedule.pairs[-1])
        spent = [spent_p([signed_rank_p(d[:n]) for n in schedule.pairs], weights) for d in data]
        adjusted = holm(spent) if spend else spent
        count += min(adjusted) <= rate
    return count / experiments


def test_any_false_alarm_over_rows_and_looks_stays_within_the_rate() -> None:
    assert 0.005 < alarms(spend=True) <= 0.05 + 4.0 * math.sqrt(0.05 * 0.95 / 1500)


def test_looking_again_without_spending_fails_the_false_alarm_test() -> None:
    """A planted fault: each look and each row at the full rate."""
    assert alarms(spend=False, experiments=500) > 0.15
