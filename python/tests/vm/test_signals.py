"""Ctrl-C ends every wait of the runtime soon, and what is used afterwards is as it should be."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from tests.faults import faulty

import oneflow as flow

# The signal comes after DELAY seconds, when the waits have WORK to go; then PROMPT may pass.
DELAY, WORK, PROMPT = 0.3, 3.0, 2.0
vm = flow._oneflow_internal


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    yield
    settle()


def settle() -> None:
    for _ in range(2):
        try:
            vm.sync()
        except RuntimeError:
            pass
    vm.set_vm_mode("auto")
    vm.forget_unread_errors()


def busy(x: Any) -> Any:
    """Keeps the stream asleep for WORK seconds; what it would give is never computed."""
    return flow._C.throw_error(x, int(1000 * WORK))


def in_item() -> None:
    x = flow.ones(3)
    busy(x)
    x.add_(1)
    (x * 2).sum().item()


def in_numpy() -> None:
    x = flow.ones(3)
    busy(x)
    x.add_(1).numpy()


def in_sync() -> None:
    busy(flow.ones(3))
    vm.sync()


def in_op_on_visible_memory() -> None:
    busy(flow.ones(3))
    flow.from_numpy(np.ones(3)) + 1


def in_full_run_ahead() -> None:
    x = flow.ones(3)
    busy(x)
    for _ in range(10_000):
        x = x * 1


def in_backward() -> None:
    """Its ops fill the queue."""
    vm.set_vm_mode("queued")
    x = flow.ones(3, requires_grad=True)
    y = x * 1
    for _ in range(20_000):
        y = y * 1
    vm.sync()
    busy(flow.ones(3))
    y.sum().backward()


def behind_an_inline_op() -> None:
    """Another thread runs a long op at its line; meanwhile nobody can issue."""
    visible = flow.from_numpy(np.ones(3))

    def work() -> None:
        with pytest.raises(RuntimeError):
            busy(visible)

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(DELAY / 3)
    flow.ones(3) + 1
    thread.join()


WAITS = (
    in_item,
    in_numpy,
    in_sync,
    in_op_on_visible_memory,
    in_full_run_ahead,
    in_backward,
    behind_an_inline_op,
)


def seconds_to_interrupt(wait: Callable[[], None]) -> float:
    """From the signal to the KeyboardInterrupt out of `wait`."""
    sent = [0.0]

    def send() -> None:
        sent[0] = time.monotonic()
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(DELAY, send)
    timer.start()
    try:
        wait()
    except KeyboardInterrupt:
        return time.monotonic() - sent[0]
    finally:
        timer.cancel()
    raise AssertionError("nothing was waited for")


@pytest.mark.parametrize("mode", ["auto", "queued"])
@pytest.mark.parametrize("wait", WAITS)
def test_an_interrupt_ends_the_wait(wait: Callable[[], None], mode: str) -> None:
    if wait is behind_an_inline_op and mode == "queued":
        mode = "inline"
    before = flow.arange(5).float()
    vm.set_vm_mode(mode)
    assert seconds_to_interrupt(wait) < PROMPT
    # What is issued now runs behind what is still queued, and is right.
    assert (before + 1).tolist() == [1, 2, 3, 4, 5]
    array = np.zeros(4, np.float32)
    flow.from_numpy(array).add_(3)
    assert array.tolist() == [3, 3, 3, 3]
    x = flow.ones(2, requires_grad=True)
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_an_idle_process_sleeps() -> None:
    """After work, neither the stream's thread nor a waiter burns a core."""
    vm.set_vm_mode("queued")
    x = flow.ones(300, 300)
    for _ in range(20):
        x = x * 1
    vm.sync()
    start = time.process_time()
    time.sleep(1)
    assert time.process_time() - start < 0.1
    busy(flow.ones(3))
    start = time.process_time()
    with pytest.raises(RuntimeError):
        vm.sync()
    assert time.process_time() - start < 0.1 * WORK


def test_a_wait_that_ignores_signals_is_noticed() -> None:
    program = (
        "from tests.vm import test_signals as t\n"
        "seconds = t.seconds_to_interrupt(t.in_item)\n"
        "t.settle()\nprint(seconds < t.PROMPT)"
    )
    for fault, prompt in ((None, "True"), ("waits_ignore_signals", "False")):
        ended = faulty.run(program, fault)
        assert (ended.status, ended.stdout.strip()) == (0, prompt), ended.stderr
