"""DataLoader with worker processes: the same batches, clear errors, and no process left."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support import must_fail, raises

import oneflow as flow
from oneflow.utils import data

DataLoader: Any = data.DataLoader


class Rows(data.Dataset[Any]):
    """(index * ones, index), the tensors made by ops in the worker."""

    def __init__(self, count: int, width: int = 3) -> None:
        self.count = count
        self.width = width

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        return flow.ones(self.width) * index, index


class Does(data.Dataset[Any]):
    """Calls a function with the index."""

    def __init__(self, count: int, function: Any) -> None:
        self.count = count
        self.function = function

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        return self.function(index)


class Shared(data.IterableDataset[Any]):
    """The numbers below `count`; each worker gives its part."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __iter__(self) -> Iterator[int]:
        info = data.get_worker_info()
        start, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(range(start, self.count, step))


def children() -> set[int]:
    """The processes that this one started and that still live."""
    path = f"/proc/self/task/{os.getpid()}/children"
    pids = Path(path).read_text().split()
    # Python's own helper of the spawn method stays until the program ends.
    return {int(pid) for pid in pids if "resource_tracker" not in command_of(pid)}


def command_of(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """No test leaves a process behind."""
    before = children()
    yield
    assert wait_until(lambda: children() <= before, 10)


def wait_until(condition: Any, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return bool(condition())


def everything(loader: Any) -> list[Any]:
    return [[part.tolist() for part in batch] for batch in loader]


def check_same_batches(make: Any) -> None:
    """Whatever the number of workers, the batches and their order are those of none."""
    flow.manual_seed(3)
    expected = [everything(loader) for loader in [make(0)] for _ in range(2)]
    assert expected[0]
    for workers in (1, 3):
        flow.manual_seed(3)
        loader = make(workers)
        assert everything(loader) == expected[0]
        assert sorted(map(str, everything(loader))) == sorted(map(str, expected[0])) or workers


@pytest.mark.parametrize("options", [{}, {"drop_last": True}, {"batch_size": 1}])
def test_the_same_batches(options: dict[str, Any]) -> None:
    check_same_batches(
        lambda workers: DataLoader(Rows(20), **{"batch_size": 3, "num_workers": workers, **options})
    )


def test_other_ways_to_give_the_order() -> None:
    for options in (
        {"sampler": [5, 1, 9, 2]},
        {"batch_sampler": [[3, 1], [2]]},
        {"batch_size": 4, "collate_fn": data.default_collate},
    ):
        check_same_batches(lambda n, o=options: DataLoader(Rows(10), num_workers=n, **o))
    loader = DataLoader(Rows(3), batch_size=None, num_workers=2)
    assert [index for _, index in loader] == [0, 1, 2]
    gathered = data.TensorDataset(flow.arange(7))
    assert everything(DataLoader(gathered, 3, num_workers=2)) == everything(DataLoader(gathered, 3))


def test_shuffled_passes() -> None:
    loader = DataLoader(Rows(30), 4, shuffle=True, num_workers=2)
    passes = [[i for _, y in everything(loader) for i in y] for _ in range(2)]
    assert sorted(passes[0]) == sorted(passes[1]) == list(range(30))
    assert passes[0] != passes[1]


def test_fewer_batches_than_workers() -> None:
    assert len(everything(DataLoader(Rows(2), 2, num_workers=4))) == 1
    assert everything(DataLoader(Rows(0), 2, num_workers=2)) == []


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_iterable_data_sets(workers: int) -> None:
    loader = DataLoader(Shared(11), 2, num_workers=workers)
    for _ in range(2):
        assert sorted(x for batch in loader for x in batch.tolist()) == list(range(11))
    dropped = DataLoader(Shared(11), 2, drop_last=True, num_workers=workers)
    assert all(len(batch) == 2 for batch in dropped)
    assert list(DataLoader(Shared(3), batch_size=None, num_workers=1)) == [0, 1, 2]


class Uneven(data.IterableDataset[Any]):
    """Worker i has i * i samples."""

    def __iter__(self) -> Iterator[int]:
        info = data.get_worker_info()
        assert info is not None
        return iter(range(100 * info.id, 100 * info.id + info.id**2))


@pytest.mark.parametrize("prefetch", [1, 2, 5])
def test_workers_with_unequal_parts(prefetch: int) -> None:
    loader = DataLoader(Uneven(), 1, num_workers=4, prefetch_factor=prefetch)
    got = sorted(int(batch.item()) for batch in loader)
    assert got == [100 * i + k for i in range(4) for k in range(i * i)]


def test_large_batches_do_not_lock_each_other_out() -> None:
    """Batches of 8 MB and long lists of indices, far above what a pipe holds."""
    loader = DataLoader(Rows(24, 1 << 19), 4, num_workers=2, prefetch_factor=3)
    total = 0.0
    for x, _ in loader:
        total += float(x[:, 0].sum())
    assert total == sum(range(24))
    wide = Does(200_000, lambda i: i)
    counts = [len(batch) for batch in DataLoader(wide, 50_000, num_workers=2)]
    assert counts == [50_000] * 4


def test_workers_read_ahead() -> None:
    """While the reader is busy, the workers are too."""

    def sleep(index: int) -> int:
        time.sleep(0.1)
        return index

    slow = Does(8, sleep)
    started = time.monotonic()
    for _ in DataLoader(slow, 1, num_workers=4):
        pass
    assert time.monotonic() - started < 0.7 + 0.1 * os.getloadavg()[0]


# Who a worker is.


def draws(index: int) -> Any:
    info = data.get_worker_info()
    assert info is not None and info.num_workers == 2
    rows = [info.seed, random.random(), float(np.random.rand()), flow.rand(1).item()]
    return np.array([index, info.id, *rows])


def test_random_numbers_of_workers() -> None:
    def rows(seed: int) -> Any:
        flow.manual_seed(seed)
        return np.concatenate([b.numpy() for b in DataLoader(Does(8, draws), 2, num_workers=2)])

    first = rows(1)
    np.testing.assert_array_equal(rows(1), first)
    assert set(first[:, 1]) == {0, 1}
    for column in (2, 3, 4, 5):
        assert not set(first[first[:, 1] == 0, column]) & set(first[first[:, 1] == 1, column])
        assert not np.array_equal(rows(2)[:, column], first[:, column])
    assert data.get_worker_info() is None


def test_init_function() -> None:
    def init(worker: int) -> None:
        os.environ["WHO"] = f"worker {worker}"

    loader = DataLoader(Does(2, lambda i: os.environ["WHO"]), 1, num_workers=2, worker_init_fn=init)
    assert [batch[0] for batch in loader] == ["worker 0", "worker 1"]
    assert "WHO" not in os.environ


# Persistent workers.


def test_persistent_workers_stay() -> None:
    loader = DataLoader(Does(6, lambda i: os.getpid()), 1, num_workers=2, persistent_workers=True)
    first = {int(batch.item()) for batch in loader}
    assert first == {int(batch.item()) for batch in loader} == children()
    for _ in loader:  # left in the middle: what is on its way must not disturb the next pass
        break
    assert [len(batch) for batch in loader] == [1] * 6
    del loader
    assert wait_until(lambda: not children(), 10)


def test_two_passes_at_once() -> None:
    rows = DataLoader(Rows(8), 1, num_workers=1)
    pairs = list(zip(rows, rows))
    assert len(pairs) == 8
    persistent = DataLoader(Rows(8), 1, num_workers=1, persistent_workers=True)
    first = iter(persistent)
    next(first)
    next(iter(persistent))
    with raises(RuntimeError, "one pass at a time"):
        for _ in first:
            pass


# Errors.


class Special(Exception):
    """Wants two arguments, so that a text alone cannot make it."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__(a, b)


def fail_at_3(index: int) -> int:
    if index == 3:
        raise LookupError("row three is missing")
    return index


@pytest.mark.parametrize("persistent", [False, True])
def test_an_error_of_the_data_set(persistent: bool) -> None:
    loader = DataLoader(Does(8, fail_at_3), 1, num_workers=2, persistent_workers=persistent)
    seen = []
    with raises(LookupError, r"worker 1 \(process \d+\) failed", "fail_at_3", "three is missing"):
        for batch in loader:
            seen.append(int(batch.item()))
    assert seen == [0, 1, 2]
    with raises(LookupError, "three is missing"):
        list(loader)


def raise_special(index: int) -> None:
    raise Special(1, 2)


def raise_local(index: int) -> None:
    class Local(Exception):
        pass

    raise Local("of a function")


@pytest.mark.parametrize(
    ("function", "kind", "words"),
    [
        (raise_special, RuntimeError, "Special"),
        (raise_local, RuntimeError, "of a function"),
        (lambda i: os.environ["NO_SUCH_KEY"], KeyError, "NO_SUCH_KEY"),
        (lambda i: flow.ones(2) + flow.ones(3), RuntimeError, r"\[add\]"),
        (lambda i: flow._C.throw_error(flow.ones(1)).item(), RuntimeError, "throw_error"),
        (lambda i: flow.ones(1, requires_grad=True) * 2, RuntimeError, "detach"),
        (lambda i: sys.exit(3), RuntimeError, "SystemExit"),
        (lambda i: (_ for _ in ()), TypeError, "generator"),
    ],
)
def test_kinds_of_errors(function: Any, kind: Any, words: str) -> None:
    with raises(kind, "DataLoader|default_collate", words):
        list(DataLoader(Does(4, function), batch_size=None, collate_fn=check, num_workers=2))


def check(sample: Any) -> Any:
    return data.default_collate([sample]) if not isinstance(sample, flow.Tensor) else sample


def test_an_error_of_the_init_function() -> None:
    def init(worker: int) -> None:
        raise ValueError("no such disk")

    with raises(ValueError, "worker . .process .* failed", "no such disk"):
        list(DataLoader(Rows(4), num_workers=2, worker_init_fn=init))


def check_death(function: Any, how: str) -> None:
    """A worker that dies ends the pass within seconds, with an error that says how."""
    started = time.monotonic()
    with raises(RuntimeError, r"worker \d \(process \d+\) ended with " + how):
        list(DataLoader(Does(6, function), 1, num_workers=2))
    assert time.monotonic() - started < 15


def test_a_worker_that_dies() -> None:
    check_death(lambda i: os.kill(os.getpid(), signal.SIGKILL), "signal 9")
    check_death(lambda i: os._exit(7), "status 7")


def test_a_worker_that_hangs() -> None:
    with raises(RuntimeError, "expects a batch within 0.3 s"):
        list(DataLoader(Does(2, lambda i: time.sleep(60)), 1, num_workers=1, timeout=0.3))


BAD: list[tuple[Any, Any, str]] = [
    ({"num_workers": -1}, ValueError, "num_workers of at least 0, got -1"),
    ({"num_workers": 1.5}, ValueError, "num_workers"),
    ({"num_workers": True}, ValueError, "num_workers"),
    ({"num_workers": 1, "prefetch_factor": 0}, ValueError, "prefetch_factor of at least 1"),
    ({"num_workers": 1, "timeout": -1}, ValueError, "timeout of at least 0"),
    ({"num_workers": 1, "timeout": float("nan")}, ValueError, "timeout"),
    ({"num_workers": 1, "worker_init_fn": 3}, TypeError, "worker_init_fn to be callable"),
    ({"persistent_workers": True}, ValueError, "persistent_workers with num_workers, got 0"),
    ({"num_workers": 1, "persistent_workers": 1}, TypeError, "persistent_workers as a bool"),
    ({"num_workers": 1, "multiprocessing_context": "warp"}, ValueError, "got 'warp'"),
]


@pytest.mark.parametrize(("options", "kind", "message"), BAD)
def test_bad_input_is_a_clear_error(options: Any, kind: Any, message: str) -> None:
    with raises(kind, message):
        list(DataLoader(Rows(2), **options))


def test_spawned_workers() -> None:
    rows = data.TensorDataset(flow.arange(6))
    loader = DataLoader(rows, 2, num_workers=1, multiprocessing_context="spawn")
    assert everything(loader) == [[[0, 1]], [[2, 3]], [[4, 5]]]
    with raises(TypeError, "can be pickled where workers start by spawn"):
        list(DataLoader(Does(2, lambda i: i), num_workers=1, multiprocessing_context="spawn"))


# Ways out.


def test_leaving_a_pass_ends_its_workers() -> None:
    for _ in DataLoader(Rows(100), 1, num_workers=2):
        assert len(children()) == 2
        break
    assert wait_until(lambda: not children(), 10)


PROGRAM = """
import os, signal, sys, time
import oneflow as flow
from oneflow.utils.data import DataLoader, Dataset
class Rows(Dataset):
    def __len__(self):
        return 1000
    def __getitem__(self, index):
        return flow.ones(1000) * index
net = flow.nn.Linear(1000, 1)
loader = DataLoader(Rows(), 4, num_workers=2, persistent_workers={persistent})
for x in loader:
    net(x).sum().backward()
    children = open(f"/proc/self/task/{{os.getpid()}}/children").read()
    print(children, flush=True)
    {leave}
"""

WAYS: list[tuple[str, int, str]] = [
    ("sys.exit(5)", 5, ""),
    ("break", 0, ""),
    ("raise ValueError('mine')", 1, "ValueError: mine"),
    ("os.kill(os.getpid(), signal.SIGINT); time.sleep(9)", -signal.SIGINT, "KeyboardInterrupt"),
    ("os.killpg(0, signal.SIGINT); time.sleep(9)", -signal.SIGINT, "KeyboardInterrupt"),
    ("os.kill(os.getpid(), signal.SIGTERM); time.sleep(9)", -signal.SIGTERM, ""),
    ("os.kill(os.getpid(), signal.SIGKILL); time.sleep(9)", -signal.SIGKILL, ""),
    ("os._exit(4)", 4, ""),
]


def check_way_out(leave: str, status: int, words: str, persistent: bool = False) -> None:
    """The program ends in time, with this status and no more words; its workers end too."""
    started = time.monotonic()
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(leave=leave, persistent=persistent)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        start_new_session=True,
        timeout=100,
    )
    assert result.returncode == status, result.stderr
    assert words in result.stderr
    if not words:
        assert result.stderr == ""
    assert result.stderr.count("Traceback") == bool(words)
    workers = result.stdout.split()
    assert len(workers) >= 2
    assert wait_until(lambda: not any(map(alive, workers)), 10)
    assert time.monotonic() - started < 40


def alive(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize(("leave", "status", "words"), WAYS)
def test_every_way_out(leave: str, status: int, words: str) -> None:
    check_way_out(leave, status, words)


def test_persistent_workers_leave_too() -> None:
    check_way_out("sys.exit(5)", 5, "", persistent=True)
    check_way_out("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL, "", persistent=True)


# Positive controls: planted faults.


class Swaps(data.DataLoader):
    """Gives the batches of two workers in the wrong order."""

    def __iter__(self) -> Iterator[Any]:
        batches = list(super().__iter__())
        return iter(batches[1::-1] + batches[2:] if self.num_workers > 1 else batches)


def test_controls() -> None:
    must_fail(check_same_batches, lambda workers: Swaps(Rows(9), 3, num_workers=workers))
    must_fail(check_way_out, "os._exit(4)", 0, "")
    must_fail(check_way_out, "print('noise', file=sys.stderr); os._exit(4)", 4, "")
    with pytest.raises(pytest.fail.Exception):
        check_death(lambda i: i, "signal 9")
