"""The ops of the family random: reproducible, and of the right distribution for a fixed seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow as flow

N = 20_000


def generator(seed: int = 1) -> flow.Generator:
    """A generator of its own."""
    made = flow.Generator()
    made.manual_seed(seed)
    return made


def kolmogorov_smirnov(values: np.ndarray, distribution: Callable[[np.ndarray], Any]) -> float:
    """The largest distance between the two distribution functions, times the root of the count."""
    ordered = np.sort(values)
    wanted = distribution(ordered)
    steps = np.arange(len(ordered) + 1) / len(ordered)
    distance = max(np.abs(steps[1:] - wanted).max(), np.abs(steps[:-1] - wanted).max())
    return float(distance * np.sqrt(len(ordered)))


# Exceeded by one seed in a million.
KS_BOUND = 2.7


def chi_square(counts: np.ndarray, expected: np.ndarray) -> float:
    """Pearson's statistic as a number of standard deviations from what it should be."""
    statistic = ((counts - expected) ** 2 / expected).sum()
    freedom = len(counts) - 1
    return float((statistic - freedom) / np.sqrt(2 * freedom))


def erf(x: np.ndarray) -> Any:
    from math import erf as one

    return np.vectorize(one)(x)


CONTINUOUS = {
    "rand": (lambda g: flow._C.rand(N, generator=g), lambda x: x),
    "randn": (lambda g: flow._C.randn(N, generator=g), lambda x: (1 + erf(x / np.sqrt(2))) / 2),
    "normal": (
        lambda g: flow._C.normal(3.0, 2.0, [N], dtype=flow.float64, generator=g),
        lambda x: (1 + erf((x - 3) / np.sqrt(8))) / 2,
    ),
    "exponential": (
        lambda g: flow._C.zeros(N).exponential_(2.5, generator=g),
        lambda x: 1 - np.exp(-2.5 * x),
    ),
    "uniform": (
        lambda g: flow._C.zeros(N).uniform_(-2.0, 6.0, generator=g),
        lambda x: (x + 2) / 8,
    ),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous(name: str) -> None:
    draw, distribution = CONTINUOUS[name]
    values = draw(generator()).numpy().astype(np.float64)
    assert kolmogorov_smirnov(values, distribution) < KS_BOUND
    # The two numbers of a block must not depend on each other.
    assert abs(np.corrcoef(values[::2], values[1::2])[0, 1]) < 5 / np.sqrt(N / 2)


def test_control_another_distribution_is_seen() -> None:
    values = flow._C.rand(N, generator=generator()).numpy()
    assert kolmogorov_smirnov(values**1.1, lambda x: x) > KS_BOUND
    counts = np.bincount((values * 10.5).astype(int), minlength=11)
    assert abs(chi_square(counts, np.full(11, N / 11))) > 5


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "float32", "bfloat16"])
def test_randint(dtype: str) -> None:
    drawn = flow._C.randint(-3 if dtype != "uint8" else 0, 8, [N], generator=generator(),
                            dtype=getattr(flow, dtype))  # fmt: skip
    values = flow._C.cast(drawn, flow.int64).numpy()
    low = values.min()
    assert low == (-3 if dtype != "uint8" else 0) and values.max() == 7
    counts = np.bincount(values - low)
    assert abs(chi_square(counts, np.full(len(counts), N / len(counts)))) < 5


def test_randint_of_the_whole_range() -> None:
    values = flow._C.randint(-(2**63), 2**63 - 1, [N], generator=generator()).numpy()
    assert kolmogorov_smirnov(values / 2.0**64 + 0.5, lambda x: x) < KS_BOUND
    assert len(np.unique(values)) == N
    odd = int((values & 1).sum())
    assert abs(odd - N / 2) < 5 * np.sqrt(N) / 2


def test_bernoulli() -> None:
    chances = flow.tensor(np.linspace(0, 1, 101).repeat(200))
    values = flow.bernoulli(chances, generator=generator()).numpy().reshape(101, 200)
    assert set(np.unique(values)) == {0.0, 1.0}
    assert not values[0].any() and values[-1].all()
    means = values.mean(1)
    assert np.abs(means - np.linspace(0, 1, 101)).max() < 5 * np.sqrt(0.25 / 200)
    ones = flow.bernoulli(flow.zeros(N), 0.3, generator=generator()).numpy().sum()
    assert abs(ones - 0.3 * N) < 5 * np.sqrt(0.21 * N)
    assert flow.zeros(3, 4).t().bernoulli_(1.0).tolist() == [[1.0] * 3] * 4


def test_bernoulli_of_no_probability() -> None:
    for bad in (1.5, -0.1, float("nan")):
        with pytest.raises(RuntimeError, match=r"\[bernoulli\] expects probabilities"):
            flow.bernoulli(flow.tensor([0.5, bad])).numpy()


def test_randperm() -> None:
    for n in (0, 1, 2, 7, 1000):
        order = flow._C.randperm(n, generator=generator()).numpy()
        assert order.dtype == np.int64
        assert sorted(order.tolist()) == list(range(n))
    source = generator()
    firsts = [int(flow._C.randperm(5, generator=source).numpy()[0]) for _ in range(2000)]
    lasts = [int(flow._C.randperm(5, generator=source).numpy()[-1]) for _ in range(2000)]
    for places in (firsts, lasts):
        assert abs(chi_square(np.bincount(places, minlength=5), np.full(5, 400.0))) < 5


def test_multinomial_with_replacement() -> None:
    weights = flow.tensor([[1.0, 2.0, 0.0, 5.0], [0.0, 0.0, 1.0, 1.0]])
    drawn = flow.multinomial(weights, N, replacement=True, generator=generator()).numpy()
    assert drawn.shape == (2, N)
    for row, chances in zip(drawn, ([1 / 8, 2 / 8, 5 / 8], [0.5, 0.5])):
        counts = np.bincount(row, minlength=4)
        some = counts[counts > 0]
        assert abs(chi_square(some, np.array(chances) * N)) < 5
    assert not (drawn[0] == 2).any() and (drawn[1] >= 2).all()


def test_multinomial_without_replacement() -> None:
    weights = flow.tensor([1.0, 2.0, 3.0]).expand(4000, 3)
    drawn = flow.multinomial(weights, 3, generator=generator()).numpy()
    assert (np.sort(drawn, 1) == np.arange(3)).all()
    first = np.bincount(drawn[:, 0], minlength=3)
    assert abs(chi_square(first, np.array([1, 2, 3]) / 6 * 4000)) < 5
    # Given that 2 came first, the others come as 1 to 2.
    second = drawn[drawn[:, 0] == 2, 1]
    assert abs(chi_square(np.bincount(second), np.array([1, 2]) / 3 * len(second))) < 5


def test_multinomial_of_no_weights() -> None:
    for bad in ([1.0, -1.0], [0.0, 0.0], [1.0, float("inf")], [float("nan"), 1.0], [0.0, 1.0]):
        with pytest.raises(RuntimeError, match=r"\[multinomial\]"):
            flow.multinomial(flow.tensor(bad), 2).numpy()


DRAWS = {
    "randint": lambda g: flow._C.randint(0, 100, [N], generator=g),
    "bernoulli": lambda g: flow.bernoulli(flow.full((N,), 0.5), generator=g),
    "exponential": lambda g: flow.zeros(N).exponential_(generator=g),
    "randperm": lambda g: flow._C.randperm(N, generator=g),
    "multinomial": lambda g: flow.multinomial(flow.ones(N), 50, generator=g),
}


@pytest.mark.parametrize("name", DRAWS)
def test_one_seed_gives_the_same_numbers_for_any_number_of_threads(name: str) -> None:
    before = flow.get_num_threads()
    try:
        drawn = []
        for threads in (1, 3):
            flow.set_num_threads(threads)
            drawn.append(DRAWS[name](generator(5)).numpy())
    finally:
        flow.set_num_threads(before)
    assert (drawn[0] == drawn[1]).all()
    source = generator(5)
    first, second = (DRAWS[name](source).numpy() for _ in range(2))
    assert (first == drawn[0]).all()
    assert (first != second).any()


def test_short_floats_draw_the_same_numbers() -> None:
    for dtype in (flow.float16, flow.bfloat16):
        short = flow.zeros(1000, dtype=dtype).exponential_(generator=generator(3))
        wide = flow.zeros(1000, dtype=flow.float64).exponential_(generator=generator(3))
        assert np.allclose(flow._C.cast(short, flow.float64).numpy(), wide.numpy(), rtol=1e-2,
                           atol=1e-6)  # fmt: skip
