"""Many ops of all sorts leave the process as large as it was.

ONEFLOW_TEST_OPS sets how many.
"""

from __future__ import annotations

import dataclasses
import gc
import os
import random
import resource
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.faults import faulty

import oneflow as flow

OPS = int(os.environ.get("ONEFLOW_TEST_OPS", "50000"))
THREADS = 3
WARM_UP = 0.25  # part of the ops after which nothing may grow any more
MOST_RSS = 4 << 20  # bytes that the process may be larger at the end, beside what the pool holds
MOST_RESERVED = 4 << 20  # bytes that the pool may hold more: blocks of sizes not met before
LARGE = (200, 300, 700)  # the sides of large matrices
vm = flow._oneflow_internal


@dataclasses.dataclass(frozen=True)
class Level:
    """How much memory is in use, with nothing under way."""

    rss: int  # bytes, resident
    allocated: int  # bytes, of tensors
    reserved: int  # bytes, held by the pool


def level() -> Level:
    settle()
    gc.collect()
    with open("/proc/self/statm") as file:
        rss = int(file.read().split()[1]) * resource.getpagesize()
    stats = flow.cpu.memory_stats()
    return Level(rss, stats["allocated"], stats["reserved"])


def settle() -> None:
    for _ in range(2):
        try:
            vm.sync()
        except RuntimeError:
            pass
    vm.forget_unread_errors()


# Each returns how many ops it issued.


def elementwise(rng: random.Random) -> int:
    size = rng.choice([1, 7, 64, 1000, 5000])
    x = flow.ones(size)
    for _ in range(20):
        x = (x * 0.5 + 1).relu() - x
    assert x.sum().item() == x.sum().item()
    return 84


def views(rng: random.Random) -> int:
    x = flow.zeros(rng.randint(4, 20), 8)
    for i in range(10):
        x[i % 4].add_(1)
        x[1:3].copy_(x[0:2])
        x.t().mul_(0.5)
        x.view(-1)[::2].fill_(i)
    return 80


def aliases(rng: random.Random) -> int:
    array = np.ones(rng.choice([3, 100, 3000]), np.float32)
    x = flow.from_numpy(array)
    for _ in range(10):
        y = x * 2
        array[:] = 0
        x.add_(1)
        assert y.numpy()[0] == 2 * 1.0
        array[:] = 1
    return 20


class Net(flow.nn.Module):
    """Two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.first = flow.nn.Linear(8, 16)
        self.second = flow.nn.Linear(16, 4)

    def forward(self, x: Any) -> Any:
        return self.second(self.first(x).relu())


def training(rng: random.Random) -> int:
    net = Net()
    optimizer = flow.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    target = flow.tensor([rng.randrange(4) for _ in range(5)])
    for _ in range(4):
        loss = flow.nn.functional.cross_entropy(net(flow.randn(5, 8)), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return 120


def failures(rng: random.Random) -> int:
    x = flow.ones(rng.choice([1, 50, 20_000]))
    try:
        y = flow._C.throw_error(x)
        z = y * 2 + x
        x.add_(z)
        z.numpy()
    except RuntimeError:
        pass
    try:
        flow._C.throw_error_(x)
    except RuntimeError:
        pass
    return 6


def large(rng: random.Random) -> int:
    n = rng.choice(LARGE)
    x = flow.ones(n, n)
    y = x @ x
    del x
    y.add_(y)
    return 3


WORK: tuple[Callable[[random.Random], int], ...] = (
    elementwise, views, aliases, training, failures, failures, large,
)  # fmt: skip


def run_ops(count: int, seed: int) -> None:
    """Issues about so many ops, on several threads, in a mix of modes."""

    def work(thread: int) -> None:
        rng = random.Random(seed * THREADS + thread)
        done = 0
        while done < count // THREADS:
            done += rng.choice(WORK)(rng)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def soak(count: int, parts: int = 8) -> tuple[Level, Level]:
    """The level after the warm-up, and at the end."""
    # As many large blocks as the threads can ever hold; how many they do is a matter of luck.
    blocks = [flow.ones(n, n) for n in LARGE for _ in range(3 * THREADS)]
    del blocks
    modes = ("auto", "random", "auto", "queued")
    levels = []
    for part in range(parts):
        vm.set_vm_mode(modes[part % len(modes)])
        run_ops(count // parts, part)
        levels.append(level())
    vm.set_vm_mode("auto")
    return levels[int(parts * WARM_UP)], levels[-1]


def check(before: Level, after: Level) -> None:
    assert after.allocated == before.allocated, (before, after)
    more = after.reserved - before.reserved
    assert more <= MOST_RESERVED, (before, after)
    assert after.rss - before.rss - max(0, more) <= MOST_RSS, (before, after)


def test_memory_is_flat() -> None:
    before, after = soak(OPS)
    print(f"{OPS} ops: {before} -> {after}")
    check(before, after)


def test_a_leak_is_noticed() -> None:
    program = (
        "from tests.vm import test_soak as t\n"
        "before, after = t.soak(10_000)\n"
        "try:\n    t.check(before, after)\n    print('flat')\n"
        "except AssertionError as error: print('grew', error)"
    )
    for fault, word in ((None, "flat"), ("failed_memory_leaks", "grew")):
        ended = faulty.run(program, fault, timeout=300)
        assert ended.status == 0 and ended.stdout.startswith(word), (fault, ended)


def test_control() -> None:
    level_now = Level(1 << 30, 1000, 1 << 20)
    check(level_now, level_now)
    for more in ({"rss": 1 << 31}, {"allocated": 1001}, {"reserved": 1 << 23}):
        with pytest.raises(AssertionError):
            check(level_now, dataclasses.replace(level_now, **more))
