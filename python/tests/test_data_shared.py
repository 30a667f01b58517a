"""Batches in shared memory: the same values, never overwritten while somebody holds them."""

from __future__ import annotations

import os
from collections import namedtuple
from typing import Any

import numpy as np
import pytest
from tests.support import must_fail

import oneflow as flow
from oneflow.utils import data
from oneflow.utils.data import _shared

DataLoader: Any = data.DataLoader
WIDTH = 1 << 15  # float32: far above what goes through the pipe


class Rows(data.Dataset[Any]):
    """index * ones, made by a function."""

    def __init__(self, count: int, make: Any) -> None:
        self.count = count
        self.make = make

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        return self.make(index)


def wide(index: int) -> Any:
    return flow.ones(WIDTH) * index


def firsts(batches: list[Any]) -> list[list[float]]:
    """The first element of each sample; all others must be equal to it."""
    found = []
    for batch in batches:
        values = batch.numpy()
        assert (values == values[:, :1]).all()
        found.append(values[:, 0].tolist())
    return found


def expected(count: int, size: int) -> list[list[float]]:
    return [[float(i) for i in range(at, min(at + size, count))] for at in range(0, count, size)]


def check_held_batches() -> None:
    loader = DataLoader(Rows(40, wide), 2, num_workers=2)
    assert firsts(list(loader)) == expected(40, 2)


def test_batches_that_are_held_stay() -> None:
    check_held_batches()


def test_a_buffer_that_is_used_too_early_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_shared._Buffer, "free", lambda self: True)
    must_fail(check_held_batches)


def test_buffers_serve_again() -> None:
    loader = DataLoader(Rows(200, wide), 2, num_workers=2, persistent_workers=True)
    for _ in range(2):
        total = 0.0
        for batch in loader:
            total += float(batch[:, 0].sum().item())
        assert total == sum(range(200))
    windows = loader._pool._windows
    assert all(1 <= len(window._mapped) <= 6 for window in windows)


def test_buffers_of_other_sizes_go() -> None:
    made = Rows(60, lambda index: flow.ones(WIDTH * (index // 4 + 1)) * index)
    loader = DataLoader(made, 1, num_workers=1, persistent_workers=True)
    for number, batch in enumerate(loader):
        assert firsts([batch]) == [[float(number)]]
    assert len(loader._pool._windows[0]._mapped) <= _shared._MOST_FREE + 8


def test_a_batch_may_be_written() -> None:
    got = []
    for batch in DataLoader(Rows(30, wide), 2, num_workers=2):
        got.append(batch[:, 0].tolist())
        batch.mul_(0).sub_(5)
    assert got == expected(30, 2)


def test_queued_ops_read_before_the_memory_serves_again() -> None:
    """The batch is dropped while ops on it are still queued."""
    sums = []
    for batch in DataLoader(Rows(60, wide), 2, num_workers=1):
        weight = flow.ones(WIDTH)
        for _ in range(3):
            weight = weight * 1.0
        sums.append((batch * weight).mean(1))
        del batch
    assert [s.tolist() for s in sums] == expected(60, 2)


Pair = namedtuple("Pair", "first second")


def test_batches_of_every_form() -> None:
    def make(index: int) -> Any:
        return {
            "wide": wide(index),
            "numbers": np.full(WIDTH, index, np.int16),
            "pair": Pair(wide(index + 1), index),
            "text": str(index),
            "small": flow.ones(2) * index,
        }

    (batch,) = DataLoader(Rows(2, make), 2, num_workers=1)
    assert firsts([batch["wide"], batch["numbers"]]) == [[0.0, 1.0], [0, 1]]
    assert batch["numbers"].dtype == flow.int16
    assert isinstance(batch["pair"], Pair) and firsts([batch["pair"].first]) == [[1.0, 2.0]]
    assert batch["text"] == ["0", "1"] and batch["small"].tolist() == [[0, 0], [1, 1]]


def collate_oddly(samples: list[Any]) -> Any:
    """Tensors that are no plain result of the default."""
    batch = data.default_collate(samples)
    leaf = flow.ones(WIDTH).requires_grad_()
    return batch[:, 1:], batch.t(), batch, batch, leaf, batch.to(flow.bfloat16), batch[0]


def test_tensors_of_every_kind() -> None:
    odd = DataLoader(Rows(2, wide), 2, num_workers=1, collate_fn=collate_oddly)
    ((part, turned, whole, again, leaf, short, row),) = odd
    assert part.shape == (2, WIDTH - 1) and firsts([part]) == [[0.0, 1.0]]
    assert turned.shape == (WIDTH, 2) and turned[7].tolist() == [0.0, 1.0]
    assert whole is again and firsts([whole]) == [[0.0, 1.0]]
    assert leaf.requires_grad and leaf.is_leaf and not whole.requires_grad
    assert short.dtype == flow.bfloat16 and short[1, 3].item() == 1.0
    assert row.shape == (WIDTH,) and not row.numpy().any()


kept: list[Any] = []


def keep(samples: list[Any]) -> Any:
    """A worker that looks at what it made before."""
    kept.append(data.default_collate(samples))
    return kept[-1], kept[0].clone()


def test_what_a_worker_keeps_stays() -> None:
    for number, (batch, first) in enumerate(
        DataLoader(Rows(20, wide), 1, num_workers=1, collate_fn=keep)
    ):
        assert firsts([batch, first]) == [[float(number)], [0.0]]
        del batch, first


def test_single_samples_and_data_in_memory() -> None:
    loader = DataLoader(Rows(6, wide), batch_size=None, num_workers=2)
    assert [sample[5].item() for sample in loader] == [0, 1, 2, 3, 4, 5]
    stored = data.TensorDataset(flow.ones(6, WIDTH) * flow.arange(6).reshape(6, 1))
    assert firsts([x for (x,) in DataLoader(stored, 4, num_workers=1)]) == expected(6, 4)


def refuse(*_: Any) -> int:
    raise OSError("no more files")


def test_without_shared_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "memfd_create", refuse)
    loader = DataLoader(Rows(8, wide), 2, num_workers=1, persistent_workers=True)
    assert firsts(list(loader)) == expected(8, 2)
    assert not loader._pool._windows[0]._mapped


def test_no_file_stays_open() -> None:
    before = len(os.listdir("/proc/self/fd"))
    batches = list(DataLoader(Rows(40, wide), 2, num_workers=2))
    assert len(os.listdir("/proc/self/fd")) <= before
    assert firsts(batches) == expected(40, 2)


def test_spawned_workers_share_memory() -> None:
    stored = data.TensorDataset(flow.ones(6, WIDTH) * flow.arange(6).reshape(6, 1))
    loader = DataLoader(
        stored, 2, num_workers=1, multiprocessing_context="spawn", persistent_workers=True
    )
    assert firsts([x for (x,) in loader]) == expected(6, 2)
    assert loader._pool._windows[0]._mapped
