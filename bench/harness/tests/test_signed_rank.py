"""The exact test against enumeration of every sign; the interval against the test itself."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest

from bench.harness import signed_rank
from bench.harness.estimate import Floats, hodges_lehmann
from bench.harness.sequential import pairs_needed
from bench.harness.signed_rank import (
    doubled_ranks,
    signed_rank_interval,
    signed_rank_p,
    smallest_p,
)
from bench.harness.tests import synthetic


def brute_p(values: Floats) -> float:
    """Twice the smaller tail over all assignments of signs, ranks shared among ties."""
    data = values[values != 0.0]
    if data.size == 0:
        return 1.0
    size = np.abs(data)
    ranks = [float((size < s).sum()) + (float((size == s).sum()) + 1.0) / 2.0 for s in size]
    found = sum(r for r, d in zip(ranks, data) if d > 0.0)
    choices = itertools.product((0, 1), repeat=len(ranks))
    sums = [sum(itertools.compress(ranks, signs)) for signs in choices]
    below = sum(s <= found + 1e-9 for s in sums) / len(sums)
    above = sum(s >= found - 1e-9 for s in sums) / len(sums)
    return min(1.0, 2.0 * min(below, above))


@pytest.mark.parametrize("count", range(1, 12))
def test_p_is_exact_without_ties(count: int) -> None:
    rng = np.random.default_rng(count)
    for shift in (0.0, 0.5, -1.5):
        values = rng.normal(shift, 1.0, count)
        assert signed_rank_p(values) == pytest.approx(brute_p(values), abs=1e-12)


@pytest.mark.parametrize("count", range(1, 12))
def test_p_is_exact_with_ties_and_zeros(count: int) -> None:
    rng = np.random.default_rng(100 + count)
    for _ in range(5):
        values = rng.integers(-3, 4, count).astype(float)
        assert signed_rank_p(values) == pytest.approx(brute_p(values), abs=1e-12)


def test_p_of_nothing_but_zeros_is_one() -> None:
    assert signed_rank_p([0.0] * 7) == 1.0


def test_p_of_textbook_table() -> None:
    """n = 10, smaller sum 8: the tables' two-sided 0.0488 (5 % point of Wilcoxon's table)."""
    values = np.arange(1.0, 11.0)
    values[[0, 6]] *= -1.0
    assert signed_rank_p(values) == pytest.approx(0.048828125)


def test_ranks_of_ties_are_shared() -> None:
    assert doubled_ranks(np.array([3.0, 1.0, 3.0, 3.0, 0.5])).tolist() == [8, 4, 8, 8, 2]


@pytest.mark.parametrize("pairs", [1, 4, 10, 20])
def test_the_smallest_p_is_reached_when_all_signs_agree(pairs: int) -> None:
    assert signed_rank_p(np.arange(1.0, pairs + 1.0)) == pytest.approx(smallest_p(pairs))


def test_ten_pairs_are_the_first_to_reach_two_in_a_thousand() -> None:
    assert smallest_p(10) < 0.002 < smallest_p(9)


def test_the_approximation_joins_the_exact_test(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(6).normal(0.12, 1.0, 150).round(1)
    exact = signed_rank_p(values)
    monkeypatch.setattr(signed_rank, "EXACT_LIMIT", 100)
    assert signed_rank_p(values) == pytest.approx(exact, rel=0.02)


@pytest.mark.parametrize("count", [6, 9, 14])
def test_the_interval_is_what_the_test_does_not_reject(count: int) -> None:
    values = np.random.default_rng(count).normal(0.3, 1.0, count)
    found = signed_rank_interval(values, 0.9)
    for end, inwards in ((found.low, 1e-9), (found.high, -1e-9)):
        assert signed_rank_p(values - (end + inwards)) > 0.1
        assert signed_rank_p(values - (end - inwards)) <= 0.1
    assert hodges_lehmann(values) in found


def test_the_interval_of_too_few_pairs_is_unbounded() -> None:
    found = signed_rank_interval([0.1, 0.2, 0.3, 0.4, 0.5], 0.95)
    assert (found.low, found.high) == (-math.inf, math.inf)


def test_the_interval_of_many_pairs_joins_the_exact_one(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(7).normal(size=150)
    exact = signed_rank_interval(values, 0.95)
    monkeypatch.setattr(signed_rank, "EXACT_LIMIT", 100)
    signed_rank._averages_outside.cache_clear()
    found = signed_rank_interval(values, 0.95)
    signed_rank._averages_outside.cache_clear()
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=0.005)


@pytest.mark.parametrize(
    "host",
    [
        synthetic.normal_pairs,
        synthetic.heavy_pairs,
        synthetic.skewed_pairs,
        synthetic.drifting_pairs,
    ],
    ids=lambda host: host.__name__,
)
def test_false_alarms_stay_within_the_rate(host: Callable[..., Floats]) -> None:
    rows = host(np.random.default_rng(9), 4000, 11)
    alarms = sum(signed_rank_p(row) <= 0.05 for row in rows) / len(rows)
    assert 0.03 < alarms < 0.05 + 4.0 * math.sqrt(0.05 * 0.95 / 4000)


def test_blocks_instead_of_rounds_fail_the_false_alarm_test() -> None:
    """A planted fault: all of one variant first. A drifting host then looks like a difference."""
    rows = synthetic.drifting_blocks(np.random.default_rng(10), 500, 11)
    assert sum(signed_rank_p(row) <= 0.05 for row in rows) / len(rows) > 0.3


def power(pairs: int, spread: float) -> float:
    """How often a shift of 1 % is found at 2 in a thousand."""
    rows = np.random.default_rng(11).normal(0.01, spread, (1000, pairs))
    return sum(signed_rank_p(row) <= 0.002 for row in rows) / len(rows)


def test_power_with_many_pairs_is_that_of_the_rule_of_thumb() -> None:
    pairs = pairs_needed(0.02, 0.01, rate=0.002, power=0.95)
    assert pairs == 90
    assert power(pairs, 0.02) > 0.88


def test_power_with_few_pairs_is_less_than_the_rule_of_thumb() -> None:
    """The documented exception: near the fewest pairs that can reject, half as many again."""
    pairs = pairs_needed(0.007, 0.01, rate=0.002, power=0.95)
    assert pairs == 11
    assert power(pairs, 0.007) < 0.7
    assert power(17, 0.007) > 0.9
