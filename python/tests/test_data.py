"""Data sets, samplers and DataLoader."""

from __future__ import annotations

from collections import Counter, namedtuple
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.support import must_fail, raises, same

import oneflow as flow
from oneflow.utils import data


class Squares(data.Dataset[Any]):
    """Samples that are plain numbers."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> int:
        if not 0 <= index < self.count:
            raise IndexError(index)
        return index * index


class Stream(data.IterableDataset[Any]):
    """The numbers from 0 on."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.count))

    def __len__(self) -> int:
        return self.count


def table(rows: int) -> data.TensorDataset:
    """(row, 3) floats and (row,) labels; the label is the row's number."""
    numbers = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3)
    return data.TensorDataset(flow.tensor(numbers), flow.arange(rows))


# Data sets.


def test_tensor_dataset() -> None:
    x, y = table(4)[2]
    same(x, [6.0, 7.0, 8.0])
    assert y.item() == 2
    assert len(table(4)) == 4
    assert table(4)[-1][1].item() == 3


def test_concat_chain_and_add() -> None:
    both = Squares(3) + Squares(2)
    assert [both[i] for i in range(5)] == [0, 1, 4, 0, 1]
    assert both[-1] == 1
    assert list(Stream(2) + Stream(1)) == [0, 1, 0]


def check_split(split: Any) -> None:
    """Every sample is in exactly one part."""
    parts = split(Squares(100), [70, 20, 10])
    assert [len(part) for part in parts] == [70, 20, 10]
    seen = Counter(i for part in parts for i in part.indices)
    assert sorted(seen) == list(range(100))
    assert set(seen.values()) == {1}


def test_random_split() -> None:
    check_split(data.random_split)
    parts = data.random_split(Squares(10), [0.55, 0.45])
    assert [len(part) for part in parts] == [6, 4]
    assert data.random_split(Squares(0), [0])[0].indices == []
    first, second = (
        data.random_split(Squares(50), [25, 25], flow.Generator().manual_seed(1))[0].indices
        for _ in range(2)
    )
    assert first == second
    assert first != sorted(first)


def test_subset_of_subset() -> None:
    outer = data.Subset(data.Subset(Squares(10), [9, 8, 7]), [2, 0])
    assert [outer[i] for i in range(len(outer))] == [49, 81]


# Samplers.


def check_random_order(sampler: Any, count: int) -> None:
    """A permutation, another at each pass, all places equally likely."""
    passes = np.array([list(sampler) for _ in range(400)])
    assert all(sorted(order) == list(range(count)) for order in passes)
    assert len({tuple(order) for order in passes}) > 100
    for place in range(count):
        counts = np.bincount(passes[:, place], minlength=count)
        expected = 400 / count
        # Six standard deviations of a binomial count.
        assert np.abs(counts - expected).max() < 6 * np.sqrt(expected)


def test_random_sampler() -> None:
    check_random_order(data.RandomSampler(range(6)), 6)
    check_random_order(data.SubsetRandomSampler(list(range(6))), 6)


def test_random_sampler_draws_from_its_generator() -> None:
    def orders(seed: int) -> list[int]:
        return list(data.RandomSampler(range(20), generator=flow.Generator().manual_seed(seed)))

    assert orders(1) == orders(1)
    assert orders(1) != orders(2)
    flow.manual_seed(5)
    first = list(data.RandomSampler(range(20)))
    flow.manual_seed(5)
    assert list(data.RandomSampler(range(20))) == first


def test_random_sampler_counts() -> None:
    many = list(data.RandomSampler(range(3), replacement=True, num_samples=3000))
    assert len(many) == 3000
    assert set(many) == {0, 1, 2}
    assert min(Counter(many).values()) > 850
    assert len(list(data.RandomSampler(range(3), num_samples=7))) == 7
    assert len(data.RandomSampler(range(3), num_samples=2)) == 2
    assert list(data.RandomSampler([])) == []


@pytest.mark.parametrize(("drop", "expected"), [(False, [2, 2, 1]), (True, [2, 2])])
def test_batch_sampler(drop: bool, expected: list[int]) -> None:
    sampler = data.BatchSampler(data.SequentialSampler(range(5)), 2, drop)
    assert [len(batch) for batch in sampler] == expected
    assert len(sampler) == len(expected)


# Collating.


Pair = namedtuple("Pair", ["x", "y"])


def test_collate_keeps_the_form() -> None:
    batch = data.default_collate(
        [
            {"x": flow.ones(2), "y": [1, 2.5], "name": "a", "flag": True, "n": np.float32(1.5)},
            {"x": flow.zeros(2), "y": [3, 4.5], "name": "b", "flag": False, "n": np.float32(2)},
        ]
    )
    same(batch["x"], [[1, 1], [0, 0]])
    assert batch["y"][0].dtype == flow.int64
    assert batch["y"][1].dtype == flow.float64
    assert batch["name"] == ["a", "b"]
    assert batch["flag"].dtype == flow.bool
    assert batch["n"].dtype == flow.float32
    pair = data.default_collate([Pair(1, np.zeros(2)), Pair(2, np.ones(2))])
    assert isinstance(pair, Pair)
    same(pair.y, [[0, 0], [1, 1]])


# DataLoader.


def check_epochs(make: Any) -> None:
    """Whatever the order, each pass has every row once, and rows stay whole."""
    loader = make(table(10))
    for _ in range(2):
        labels: list[int] = []
        for x, y in loader:
            same(x[:, 0], 3.0 * np.array(y.tolist()))
            labels += y.tolist()
        assert sorted(labels) == list(range(10))


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("batch_size", [1, 3, 10, 99])
def test_epochs(shuffle: bool, batch_size: int) -> None:
    check_epochs(lambda rows: data.DataLoader(rows, batch_size=batch_size, shuffle=shuffle))


def test_fast_and_general_ways_agree() -> None:
    """Batches of a TensorDataset are gathered at once; the result is that of sample by sample."""

    class Plain(data.Dataset[Any]):
        def __init__(self, inner: Any) -> None:
            self.inner = inner

        def __len__(self) -> int:
            return len(self.inner)

        def __getitem__(self, index: int) -> Any:
            return self.inner[index]

    for rows in (table(7), data.Subset(table(9), [8, 1, 3])):
        fast = data.DataLoader(rows, batch_size=2)
        slow = data.DataLoader(Plain(rows), batch_size=2)
        for (x, y), (other_x, other_y) in zip(fast, slow):
            assert (x.dtype, y.dtype) == (other_x.dtype, other_y.dtype)
            same(x, other_x.numpy())
            same(y, other_y.numpy())


def test_batches_do_not_share_memory_with_the_data() -> None:
    rows = table(4)
    for x, _ in data.DataLoader(rows, batch_size=4):
        x.zero_()
    same(rows[3][0], [9.0, 10.0, 11.0])


def test_data_that_requires_grad() -> None:
    rows = data.TensorDataset(flow.ones(3, 2, requires_grad=True))
    (batch,) = next(iter(data.DataLoader(rows, batch_size=2)))
    same(batch, np.ones((2, 2)))
    assert not batch.requires_grad


def test_lengths_drop_last_and_custom_collate() -> None:
    assert [len(b) for b in data.DataLoader(Squares(5), 2, drop_last=True)] == [2, 2]
    assert len(data.DataLoader(Squares(5), 2, drop_last=True)) == 2
    assert len(data.DataLoader(Squares(5), 2)) == 3
    assert list(data.DataLoader(Squares(5), 2, collate_fn=sum)) == [1, 13, 16]
    assert list(data.DataLoader(Squares(3), batch_size=None)) == [0, 1, 4]
    assert len(data.DataLoader(Squares(3), batch_size=None)) == 3


def test_samplers_given_by_the_user() -> None:
    assert [b.tolist() for b in data.DataLoader(Squares(4), 2, sampler=[3, 0, 1])] == [[9, 0], [1]]
    batches = data.DataLoader(Squares(4), batch_sampler=[[0, 1, 2], [3]])
    assert [b.tolist() for b in batches] == [[0, 1, 4], [9]]
    assert len(batches) == 2


def test_iterable_dataset() -> None:
    loader = data.DataLoader(Stream(5), batch_size=2)
    assert [b.tolist() for b in loader] == [[0, 1], [2, 3], [4]]
    assert len(loader) == 3
    dropped = data.DataLoader(Stream(5), batch_size=2, drop_last=True)
    assert [b.tolist() for b in dropped] == [[0, 1], [2, 3]]
    assert len(dropped) == 2
    assert list(data.DataLoader(Stream(2), batch_size=None)) == [0, 1]


def test_shuffle_follows_the_generator() -> None:
    def order(seed: int) -> list[int]:
        loader = data.DataLoader(
            Squares(30), 30, shuffle=True, generator=flow.Generator().manual_seed(seed)
        )
        return next(iter(loader)).tolist()

    assert order(1) == order(1)
    assert order(1) != order(2)


loose: Any = data  # wrong types on purpose
BAD: list[tuple[Any, Any, str]] = [
    (lambda: loose.TensorDataset(), ValueError, "at least one Tensor"),
    (lambda: loose.TensorDataset([1]), TypeError, "expects Tensors, got list"),
    (lambda: loose.TensorDataset(flow.ones(2), flow.ones(3)), ValueError, "same length"),
    (lambda: loose.TensorDataset(flow.tensor(1.0)), ValueError, "same length"),
    (lambda: table(3)[3], IndexError, "3"),
    (lambda: table(3).gather([3]), IndexError, "expects indices below 3"),
    (lambda: loose.Dataset()[0], NotImplementedError, "__getitem__"),
    (lambda: iter(loose.IterableDataset()), NotImplementedError, "__iter__"),
    (lambda: loose.ConcatDataset([]), ValueError, "at least one data set"),
    (lambda: loose.ConcatDataset([3]), TypeError, "with a length, got int"),
    (lambda: loose.ConcatDataset([Squares(2)])[2], IndexError, "below 2, got 2"),
    (lambda: loose.Subset(Squares(3), [0])[1], IndexError, ""),
    (lambda: loose.random_split(Squares(3), [1, 1]), ValueError, "sum to 3"),
    (lambda: loose.random_split(Squares(3), [4, -1]), ValueError, "at least 0"),
    (lambda: loose.random_split(Squares(3), [1.5, 1.5]), ValueError, "sum to 3"),
    (lambda: loose.random_split(3, [3]), TypeError, "with a length"),
    (lambda: loose.RandomSampler(range(3), num_samples=0), ValueError, "num_samples"),
    (lambda: loose.RandomSampler(range(3), replacement=1), TypeError, "replacement as a bool"),
    (lambda: list(loose.RandomSampler([], num_samples=2)), ValueError, "not empty"),
    (lambda: loose.BatchSampler([], 0, False), ValueError, "batch_size as an int above 0"),
    (lambda: loose.BatchSampler([], True, False), ValueError, "batch_size"),
    (lambda: loose.BatchSampler([], 1, None), TypeError, "drop_last as a bool"),
    (lambda: iter(loose.Sampler()), NotImplementedError, "__iter__"),
    (lambda: loose.default_collate([]), ValueError, "at least one sample"),
    (lambda: loose.default_collate([object()]), TypeError, "got object"),
    (lambda: loose.default_collate([flow.ones(1), flow.ones(2)]), ValueError, "same shape"),
    (lambda: loose.default_collate([[1], [1, 2]]), ValueError, "same length"),
    (lambda: loose.DataLoader(3), TypeError, "__getitem__, got int"),
    (lambda: loose.DataLoader(Squares(2), 0), ValueError, "batch_size"),
    (lambda: loose.DataLoader(Squares(2), 1.5), ValueError, "batch_size"),
    (lambda: loose.DataLoader(Squares(2), shuffle=1), TypeError, "shuffle as a bool"),
    (lambda: loose.DataLoader(Squares(2), num_workers=-1), ValueError, "num_workers"),
    (lambda: loose.DataLoader(Squares(2), collate_fn=3), TypeError, "callable"),
    (lambda: loose.DataLoader(Squares(2), sampler=[0], shuffle=True), ValueError, "got both"),
    (lambda: loose.DataLoader(Squares(2), 2, batch_sampler=[[0]]), ValueError, "got both"),
    (
        lambda: loose.DataLoader(Squares(2), None, drop_last=True),
        ValueError,
        "batch_size, got None",
    ),
    (lambda: loose.DataLoader(Stream(2), shuffle=True), ValueError, "IterableDataset"),
]


@pytest.mark.parametrize(("wrong", "kind", "message"), BAD)
def test_bad_input_is_a_clear_error(wrong: Any, kind: Any, message: str) -> None:
    with raises(kind, message):
        wrong()


def test_an_error_of_the_data_set_comes_through() -> None:
    class Broken(Squares):
        def __getitem__(self, index: int) -> int:
            raise OSError("disk on fire")

    with raises(OSError, "disk on fire"):
        next(iter(data.DataLoader(Broken(3))))


# Positive controls: planted faults.


class SameOrder(data.RandomSampler):
    """Shuffles once, and gives this order at each pass."""

    def __iter__(self) -> Iterator[int]:
        self.order = getattr(self, "order", None) or list(super().__iter__())
        return iter(self.order)


def split_with_overlap(dataset: Any, lengths: list[int]) -> Any:
    return [data.Subset(dataset, list(range(length))) for length in lengths]


def loses_last(rows: Any) -> Any:
    return data.DataLoader(rows, batch_size=3, drop_last=True)


def test_controls() -> None:
    must_fail(check_random_order, SameOrder(range(6)), 6)
    must_fail(check_split, split_with_overlap)
    must_fail(check_epochs, loses_last)
