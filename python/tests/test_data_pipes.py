"""Data sets that are chained, and shares of processes."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pytest
from tests.support import must_fail

from oneflow.utils.data import (
    DataLoader,
    DistributedSampler,
    IterableDataset,
    IterDataPipe,
    functional_datapipe,
    guaranteed_datapipes_determinism,
    non_deterministic,
)


class Count(IterDataPipe[int]):
    """0, 1, ... below n."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.n))


@pytest.fixture(autouse=True)
def functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names that a test registers are gone after it."""
    monkeypatch.setattr(IterableDataset, "functions", {})


def test_a_chain() -> None:
    @functional_datapipe("plus")
    class Plus(IterDataPipe[int]):
        """Adds a number."""

        def __init__(self, source: Any, n: int = 1) -> None:
            self.source, self.n = source, n

        def __iter__(self) -> Iterator[int]:
            return (x + self.n for x in self.source)

    assert list(Count(3).plus(10).plus()) == [11, 12, 13]
    assert [int(x) for x in DataLoader(Count(3).plus(n=5), batch_size=None)] == [5, 6, 7]
    with pytest.raises(ValueError, match="new name, got 'plus'"):
        functional_datapipe("plus")(Plus)
    with pytest.raises(AttributeError, match="'Count' object has no attribute 'minus'"):
        Count(3).minus()


def test_a_data_set_survives_pickling() -> None:
    assert list(pickle.loads(pickle.dumps(Count(2)))) == [0, 1]


def test_determinism() -> None:
    @non_deterministic
    class Random(Count):
        """Always random."""

    @functional_datapipe("maybe")
    @non_deterministic(lambda source, shuffle=False: shuffle)
    class Maybe(Count):
        """Random if it is told so."""

        def __init__(self, source: Count, shuffle: bool = False) -> None:
            super().__init__(source.n)

    assert list(Random(2)) == [0, 1]
    assert list(Count(2).maybe(shuffle=True)) == [0, 1]
    with guaranteed_datapipes_determinism():
        assert list(Count(2).maybe()) == [0, 1]
        with guaranteed_datapipes_determinism():
            pass
        for made in (lambda: Random(2), lambda: Count(2).maybe(shuffle=True)):
            with pytest.raises(TypeError, match="inside guaranteed_datapipes_determinism"):
                made()
    assert list(Random(1)) == [0]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: functional_datapipe("a b"), "name of a method"),
        (lambda: functional_datapipe("x")(int), "subclass of IterDataPipe"),
        (lambda: non_deterministic(int), "subclass of IterDataPipe"),
        (lambda: non_deterministic(3), "class or a function"),
        (lambda: non_deterministic(lambda: True)(int), "subclass of IterDataPipe"),
    ],
)
def test_bad_input_is_a_clear_error(wrong: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        wrong()


def test_a_function_that_says_no_bool() -> None:
    made = non_deterministic(lambda n: 1)(Count)
    with guaranteed_datapipes_determinism(), pytest.raises(TypeError, match="a bool, got 1"):
        made(3)


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9])
@pytest.mark.parametrize("replicas", [1, 2, 4])
@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("shuffle", [False, True])
def test_shares(count: int, replicas: int, drop_last: bool, shuffle: bool) -> None:
    samplers = [
        DistributedSampler(range(count), replicas, rank, shuffle, drop_last=drop_last)
        for rank in range(replicas)
    ]
    shares = [list(s) for s in samplers]
    length = count // replicas if drop_last else -(-count // replicas)
    assert all(len(share) == len(s) == length for share, s in zip(shares, samplers))
    seen = [i for share in shares for i in share]
    if drop_last:
        assert len(set(seen)) == len(seen)
    else:
        assert set(seen) == set(range(count))
    if not shuffle and count:
        assert shares[0][:1] == [0][:length]


def test_an_epoch_has_its_order(monkeypatch: pytest.MonkeyPatch) -> None:
    sampler = DistributedSampler(range(100))
    first = list(sampler)
    assert list(sampler) == first
    sampler.set_epoch(1)
    assert sorted(sampler) == sorted(first)
    assert list(sampler) != first
    assert list(DistributedSampler(range(100), seed=1)) == list(sampler)
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setenv("RANK", "3")
    assert list(DistributedSampler(range(8), shuffle=False)) == [3, 7]
    with pytest.raises(ValueError, match=r"rank in \[0, 2\), got 3"):
        DistributedSampler(range(8), 2)
    with pytest.raises(ValueError, match="num_replicas as an int above 0"):
        DistributedSampler(range(8), 0, 0)


def test_control(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every process gets the share of the first."""
    monkeypatch.setattr(DistributedSampler, "__iter__", lambda self: iter(range(len(self))))
    must_fail(test_shares, 8, 2, False, False)
