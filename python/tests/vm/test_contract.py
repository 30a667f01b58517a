"""What the engine promises, one promise at a time, in each way that an op may run."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.support import raises, same

import oneflow as flow

vm = flow._oneflow_internal
MODES = ("auto", "inline", "queued", "random")


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    yield
    for _ in range(2):
        try:
            vm.sync()
        except RuntimeError:
            pass
    vm.set_vm_mode("auto")
    vm.forget_unread_errors()


def failed(x: Any, delay_ms: int = 20) -> Any:
    """A tensor that is never computed. The delay makes it long, so that it is queued."""
    return flow._C.throw_error(x, delay_ms)


# --- memory ---


@pytest.mark.parametrize("mode", MODES)
def test_memory_that_numpy_sees_is_never_raced(mode: str) -> None:
    vm.set_vm_mode(mode)
    for size in (3, 200_000):
        array = np.ones(size, np.float32)
        y = flow.from_numpy(array) * 2
        array[:] = 0
        assert y.numpy()[-1] == 2
        x = flow.ones(size)
        seen = x.numpy()
        x.add_(1)
        assert seen[0] == seen[-1] == 2


@pytest.mark.parametrize("mode", MODES)
def test_an_operand_that_is_part_of_the_target_is_read_as_it_was(mode: str) -> None:
    vm.set_vm_mode(mode)
    array = np.ones((64, 64), np.float32)
    x, again = flow.from_numpy(array), flow.from_numpy(array)  # two storages, one memory
    for y in (x, again, flow.from_numpy(x.numpy()[2:])):
        array[...] = 1
        x.add_(y[40])
        assert np.all(array == 2)
    array[...] = np.arange(64)
    x.copy_(flow.from_numpy(array.T))
    assert np.all(array == np.arange(64)[:, None])


def test_fresh_memory_is_not_written_by_the_host_before_its_last_owner_is_done() -> None:
    vm.set_vm_mode("queued")
    x = flow.ones(1000, 300)
    vm.sync()
    failed(flow.ones(1))
    y = x * 2
    del x
    fresh = flow.empty(1000, 300)
    fresh.numpy()[...] = 7
    assert np.all(y.numpy() == 2)


def test_out_of_memory_is_raised_where_it_was_asked_for() -> None:
    vm.set_vm_mode("queued")
    x = flow.ones(4)
    with raises(flow.OutOfMemoryError, r"\["):
        x.view(1, 4).expand(1 << 42, 4) + 1
    same(x + 1, [2, 2, 2, 2])


@pytest.mark.parametrize("mode", MODES)
def test_a_numpy_array_goes_behind_the_ops_that_read_it(mode: str) -> None:
    vm.set_vm_mode(mode)

    class Watched(np.ndarray):
        def __del__(self) -> None:
            gone.append(1)

    gone: list[int] = []
    x = flow.from_numpy(np.ones(50_000, np.float32).view(Watched))
    y = x * 3
    del x
    vm.sync()
    gc.collect()
    assert gone == [1]
    assert y.numpy()[-1] == 3


# --- failures ---


def test_a_poisoned_gradient_changes_no_weight() -> None:
    weight = flow.ones(3, requires_grad=True)
    optimizer = flow.optim.SGD([weight], lr=1.0)
    (weight * 2).sum().backward()
    for mode in ("queued", "auto"):
        vm.set_vm_mode(mode)
        (weight * failed(flow.ones(3))).sum().backward()  # accumulates into a gradient
        assert weight.grad.tolist() == [2, 2, 2]
    optimizer.zero_grad(set_to_none=True)
    with flow.no_grad():
        bad = failed(flow.ones(3))
    (weight * bad).sum().backward()  # the gradient is what was never computed
    optimizer.step()
    assert weight.tolist() == [1, 1, 1]
    with raises(RuntimeError, "throw_error"):
        weight.grad.tolist()
    optimizer.zero_grad()
    (weight * 2).sum().backward()
    optimizer.step()
    assert weight.tolist() == [-1, -1, -1]


@pytest.mark.parametrize("mode", ["auto", "inline"])
def test_an_update_inline_skips_a_gradient_that_failed_in_the_background(mode: str) -> None:
    weight = flow.ones(3, requires_grad=True)
    beside = flow.ones(3, requires_grad=True)
    other = flow.ones(3, requires_grad=True)
    groups = [{"params": [weight, beside]}, {"params": [other]}]
    optimizer = flow.optim.SGD(groups, lr=1.0)
    vm.set_vm_mode("queued")
    (weight * failed(flow.ones(3))).sum().backward()
    (beside * 2 + other * 2).sum().backward()
    other.grad.tolist()  # all is done, one way or the other
    vm.set_vm_mode(mode)
    optimizer.step()
    assert weight.tolist() == [1, 1, 1]
    assert beside.tolist() == [1, 1, 1]  # a group's step is one op: it happens whole or not at all
    assert other.tolist() == [-1, -1, -1]


def test_a_lost_update_in_place_is_told_at_the_next_sync() -> None:
    vm.set_vm_mode("queued")
    x = flow.ones(3)
    bad = failed(x)
    with raises(RuntimeError, "throw_error"):
        bad.tolist()
    x.add_(bad)
    assert x.tolist() == [1, 1, 1]
    with raises(RuntimeError, "throw_error"):
        vm.sync()
    vm.sync()


def test_a_full_overwrite_through_any_view_ends_the_poison() -> None:
    vm.set_vm_mode("queued")
    for overwrite in (
        lambda x: x.fill_(2),
        lambda x: x.t().fill_(2),
        lambda x: x.view(-1).copy_(flow.full((12,), 2.0)),
    ):
        x = failed(flow.ones(3, 4))
        x[0:2].fill_(7)
        with raises(RuntimeError, "throw_error"):
            x.numpy()
        overwrite(x)
        same(x, np.full((3, 4), 2))


def test_bad_data_is_found_before_anything_is_written() -> None:
    for mode in MODES:
        vm.set_vm_mode(mode)
        scores = flow.zeros(2, 3)
        with raises(IndexError, "target"):
            flow._C.nll_loss(scores, flow.tensor([0, 3])).numpy()
        same(scores, np.zeros((2, 3)))


# --- who waits ---


def test_an_op_on_visible_memory_is_served_beside_a_busy_thread() -> None:
    stop = threading.Event()

    def work() -> None:
        x = flow.ones(300, 300)
        while not stop.is_set():
            x = x * 1.0

    thread = threading.Thread(target=work)
    thread.start()
    x = flow.from_numpy(np.ones(4, np.float32))
    try:
        for _ in range(5):
            x.add_(1)
    finally:
        stop.set()
        thread.join()
    same(x, [6, 6, 6, 6])


def test_python_runs_on_while_the_runtime_waits() -> None:
    """No wait holds the GIL."""
    vm.set_vm_mode("queued")
    visible = flow.from_numpy(np.ones(3, np.float32))

    def full() -> None:
        x = flow.ones(3)
        for _ in range(3000):
            x = x * 1

    for wait in (
        lambda x: x.numpy(),
        lambda x: x.sum().item(),
        lambda x: vm.sync(),
        lambda x: visible + 1,
        lambda x: full(),
    ):
        turns = [0]
        stop = threading.Event()

        def count(turns: list[int] = turns, stop: threading.Event = stop) -> None:
            while not stop.wait(0.01):
                turns[0] += 1

        thread = threading.Thread(target=count)
        thread.start()
        bad = failed(flow.ones(3), 500)
        try:
            wait(bad)
        except RuntimeError:
            pass
        finally:
            stop.set()
            thread.join()
        assert turns[0] > 5


# --- in processes of their own ---


def run(program: str, **environ: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", "import oneflow as flow\n" + textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environ},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_everything_inline_for_debugging() -> None:
    """With ONEFLOW_VM_SYNC=1 a failure is raised at its line, and there is no thread."""
    program = """
        import os
        before = len(os.listdir("/proc/self/task"))
        x = flow.ones(300, 300) @ flow.ones(300, 300)
        try:
            flow._C.throw_error(x, 5)
        except RuntimeError:
            print("at its line")
        print(len(os.listdir("/proc/self/task")) - before)
        print(flow._oneflow_internal.sync())
    """
    lines = run(program, ONEFLOW_VM_SYNC="1", ONEFLOW_CPU_THREADS="1").splitlines()
    assert lines == ["at its line", "0", "None"]


FORK = """
    import os, sys, threading, time, warnings
    import numpy as np
    warnings.simplefilter("ignore")
    start = time.monotonic()
    {pending}
    pid = os.fork()
    if pid == 0:
        try:
            y.numpy()
        except RuntimeError as error:
            print(error, flush=True)
        try:
            print((flow.ones(3) + done).tolist(), flush=True)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    time.sleep(max(0, start + 4 - time.monotonic()))
    flow._oneflow_internal.forget_unread_errors()
"""


@pytest.mark.parametrize(
    "pending",
    [
        # Queued.
        "done = flow.ones(3) * 2; x = flow.ones(3); x.numpy(); flow._oneflow_internal.sync()\n"
        "    stall = flow._C.throw_error(flow.ones(1), 3000); y = done * 3",
        # Runs inline in another thread, on memory that numpy sees.
        "done = flow.ones(3) * 2; y = flow.from_numpy(np.ones(3, np.float32))\n"
        "    threading.Thread(target=lambda: flow._C.throw_error_(y, 3000), daemon=True).start()\n"
        "    time.sleep(0.3)",
    ],
    ids=["queued", "inline"],
)
def test_what_was_pending_at_a_fork_is_not_there_in_the_child(pending: str) -> None:
    out = run(FORK.format(pending=pending), ONEFLOW_SHUTDOWN_TIMEOUT_SECONDS="1").splitlines()
    assert "] expects to be computed before fork(), but it was still queued" in out[0], out
    assert out[1] == "[3.0, 3.0, 3.0]"
