"""Estimates against brute force and known truth; coverage of the intervals."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable

import numpy as np
import pytest

from bench.harness.estimate import (
    Floats,
    Interval,
    bootstrap_interval,
    expanded_tail,
    hodges_lehmann,
    hodges_lehmann_rows,
    log_ratios,
    spread,
    student_cdf,
    student_quantile,
)
from bench.harness.tests import synthetic

EXPERIMENTS = 1000
# Four standard errors of a share of 0.95 among the experiments: the bound on what chance explains.
CHANCE = 4.0 * math.sqrt(0.95 * 0.05 / EXPERIMENTS)


def brute_hodges_lehmann(values: list[float]) -> float:
    """The definition, spelled out."""
    averages = [(a + b) / 2.0 for a, b in itertools.combinations_with_replacement(values, 2)]
    return statistics.median(averages)


@pytest.mark.parametrize("count", range(1, 13))
def test_hodges_lehmann_is_its_definition(count: int) -> None:
    rng = np.random.default_rng(count)
    for values in (rng.normal(size=count), rng.integers(-2, 3, count).astype(float)):
        assert hodges_lehmann(values) == pytest.approx(brute_hodges_lehmann(list(values)))


def test_hodges_lehmann_rows_is_each_row_by_itself() -> None:
    rows = np.random.default_rng(1).normal(size=(50, 9))
    assert hodges_lehmann_rows(rows).tolist() == [hodges_lehmann(row) for row in rows]


def test_hodges_lehmann_bears_outliers() -> None:
    values = np.concatenate([np.random.default_rng(2).normal(0.0, 0.01, 16), [5.0, 9.0, 7.0, 8.0]])
    assert abs(hodges_lehmann(values)) < 0.02 < abs(values.mean())


def test_student_quantiles_are_the_tables() -> None:
    table = {(0.975, 1): 12.7062, (0.975, 2): 4.30265, (0.975, 9): 2.26216, (0.995, 20): 2.84534}
    for (share, degrees), value in table.items():
        assert student_quantile(share, degrees) == pytest.approx(value, rel=1e-5)
        assert student_cdf(value, degrees) == pytest.approx(share, rel=1e-5)


def test_expanded_tail_reaches_further_for_few_pairs() -> None:
    tails = [expanded_tail(n, 0.95) for n in (5, 10, 20, 1000)]
    assert tails == sorted(tails)
    assert tails[-1] == pytest.approx(0.025, rel=0.02)


def test_log_ratios_say_how_much_slower() -> None:
    assert log_ratios([1.1, 2.0], [1.0, 2.0]) == pytest.approx([math.log(1.1), 0.0])


@pytest.mark.parametrize("bad", [[], [0.0], [-1.0], [math.nan], [math.inf]])
def test_log_ratios_refuse_what_is_no_cost(bad: list[float]) -> None:
    with pytest.raises(ValueError, match="expects"):
        log_ratios(bad, bad)


def test_log_ratios_refuse_lonely_values() -> None:
    with pytest.raises(ValueError, match="expects pairs, got 2 and 1"):
        log_ratios([1.0, 2.0], [1.0])


def test_spread_of_known_values() -> None:
    found = spread([4.0, 1.0, 3.0, 2.0, 5.0])
    assert (found.median, found.low, found.high, found.iqr) == (3.0, 2.0, 4.0, 2.0)


def test_bootstrap_is_deterministic_and_follows_its_seed() -> None:
    values = np.random.default_rng(3).normal(size=12)
    assert bootstrap_interval(values, seed=5) == bootstrap_interval(values, seed=5)
    assert bootstrap_interval(values, seed=5) != bootstrap_interval(values, seed=6)


def test_bootstrap_of_a_single_pair_knows_nothing() -> None:
    assert bootstrap_interval([0.3]) == Interval(-math.inf, math.inf)


def test_bootstrap_moves_with_the_data() -> None:
    values = np.random.default_rng(4).normal(size=10)
    here, there = bootstrap_interval(values, seed=1), bootstrap_interval(values + 3.0, seed=1)
    assert (there.low, there.high) == pytest.approx((here.low + 3.0, here.high + 3.0))


Host = Callable[..., Floats]
Method = Callable[[Floats, int], Interval]


def expanded(values: Floats, seed: int) -> Interval:
    """The harness's interval."""
    return bootstrap_interval(values, 0.95, seed=seed, resamples=600)


def plain_percentile(values: Floats, seed: int) -> Interval:
    """A planted fault: the percentile interval without the expansion for few pairs."""
    rng = np.random.default_rng(seed)
    centres = hodges_lehmann_rows(values[rng.integers(0, values.size, (600, values.size))])
    low, high = np.percentile(centres, (2.5, 97.5))
    return Interval(float(low), float(high))


def biased(values: Floats, seed: int) -> Interval:
    """A planted fault: the interval of the upper quartile, sold as that of the centre."""
    shift = float(np.percentile(values, 75.0)) - hodges_lehmann(values)
    found = expanded(values, seed)
    return Interval(found.low + shift, found.high + shift)


def coverage(rows: Floats, method: Method = expanded) -> float:
    """The share of experiments, true centre 0, whose interval holds the truth."""
    return sum(0.0 in method(row, seed) for seed, row in enumerate(rows)) / len(rows)


@pytest.mark.parametrize("pairs", [8, 14])
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
def test_the_interval_covers_as_often_as_it_says(host: Host, pairs: int) -> None:
    rows = host(np.random.default_rng(pairs), EXPERIMENTS, pairs)
    assert 0.95 - CHANCE < coverage(rows) < 0.985


@pytest.mark.parametrize("fault", [plain_percentile, biased], ids=lambda fault: fault.__name__)
def test_a_faulty_interval_fails_the_coverage_test(fault: Method) -> None:
    rows = synthetic.normal_pairs(np.random.default_rng(8), EXPERIMENTS, 8)
    assert coverage(rows, fault) < 0.95 - CHANCE


def test_steps_as_the_unit_of_resampling_fail_the_coverage_test() -> None:
    """The fault that this harness exists to avoid: many steps of few processes look like data."""
    steps = synthetic.steps_of_processes(np.random.default_rng(5), 200, 8, 6)
    by_process = np.median(steps, axis=2)
    assert coverage(by_process) > 0.90
    assert coverage(steps.reshape(200, -1)) < 0.75
