"""Each request for memory of a training step fails in turn: an exception, and nothing is broken.

After the exception the same step is made again, and must give what it gives when nothing fails, bit
for bit; and no memory may be lost.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from tests.support import must_fail

import oneflow as flow
from oneflow.optim.optimizer import Optimizer

nn = flow.nn
fail_allocation = flow._oneflow_internal.fail_allocation
MOST = 200  # requests of one step: a bound for the tests, not a promise


class Training:
    """A small network with its optimizer, always the same."""

    def __init__(self, optimizer: Callable[[Any], Any]) -> None:
        flow.manual_seed(3)
        self.model = nn.Sequential(nn.Linear(20, 30), nn.ReLU(), nn.Linear(30, 7))
        self.optimizer = optimizer(self.model.parameters())
        random = np.random.default_rng(5)
        self.x = flow.tensor(random.normal(size=(16, 20)).astype(np.float32))
        self.target = flow.tensor(random.integers(0, 7, size=16))

    def step(self) -> None:
        """Forward, backward, update."""
        self.optimizer.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(self.model(self.x), self.target).backward()
        self.optimizer.step()

    def values(self) -> list[Any]:
        """Copies of the parameters."""
        return [p.detach().numpy().copy() for p in self.model.parameters()]


def sgd(parameters: Any) -> Any:
    return flow.optim.SGD(parameters, lr=0.1)


def momentum(parameters: Any) -> Any:
    return flow.optim.SGD(parameters, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01)


@pytest.fixture(autouse=True, params=["inline", "queued"])
def mode(request: Any) -> Iterator[None]:
    flow.cpu.synchronize()
    flow._oneflow_internal.set_vm_mode(request.param)
    yield
    fail_allocation(0)
    flow.cpu.synchronize()
    flow._oneflow_internal.set_vm_mode("auto")


def in_use() -> int:
    """The bytes in use once nothing is queued and garbage is gone."""
    flow.cpu.synchronize()
    gc.collect()
    gc.freeze()  # the next collection has little to look at
    return flow.cpu.memory_allocated()


def fail_each(optimizer: Callable[[Any], Any], steps_before: int) -> list[str]:
    """Fails each request of a step in turn; the names of the ops that failed."""
    right = Training(optimizer)
    for _ in range(steps_before + 1):
        right.step()
    expected = right.values()
    ops = []
    for number in range(1, MOST):
        tried = Training(optimizer)
        for _ in range(steps_before):
            tried.step()
        tried.optimizer.zero_grad(set_to_none=True)
        before = in_use()
        fail_allocation(number)
        try:
            tried.step()
        except flow.OutOfMemoryError as error:
            ops.append(error.op)
            assert str(error).startswith(f"[{error.op}] expects ")
            assert "Out of memory on cpu:0:" in str(error)
            assert "step" in [frame.name for frame in error.stack]
        if fail_allocation(0) > 0:
            return ops  # the step needs fewer
        assert len(ops) == number, "the failure was not raised"
        tried.optimizer.zero_grad(set_to_none=True)
        assert in_use() == before
        tried.step()
        for got, want in zip(tried.values(), expected):
            np.testing.assert_array_equal(got, want)
    raise AssertionError(f"a step makes more than {MOST} requests for memory")


@pytest.mark.parametrize("optimizer", [sgd, momentum])
@pytest.mark.parametrize("steps_before", [0, 1])
def test_each_request_of_a_step(optimizer: Callable[[Any], Any], steps_before: int) -> None:
    ops = fail_each(optimizer, steps_before)
    assert {"linear", "relu", "cross_entropy", "matmul", "relu_backward"} <= set(ops)
    assert ("zeros_like" in ops) == (optimizer is momentum and steps_before == 0), ops
    assert len(ops) > 15


def test_nothing_is_lost() -> None:
    """Memory in use is the same after every failure."""
    x = flow.ones(100, 100, requires_grad=True)
    before = in_use()
    for number in range(1, MOST):
        fail_allocation(number)
        try:
            y = flow.relu(x @ x + 1).sum()
            y.backward()
        except flow.OutOfMemoryError:
            pass
        left = fail_allocation(0)
        y = None
        x.grad = None
        assert in_use() == before
        if left > 0:
            return
    raise AssertionError("no end")


def test_the_other_threads_are_served() -> None:
    fail_allocation(1)
    made: list[Any] = []
    thread = threading.Thread(target=lambda: made.append(flow.ones(3)))
    thread.start()
    thread.join()
    assert made[0].numpy().tolist() == [1, 1, 1]
    assert fail_allocation(0) == 1
    assert fail_allocation(0) == 0


class HalfStep(flow.optim.SGD):
    """Takes each buffer only when its turn comes."""

    def _step(self, made: Any) -> None:
        for group in self.param_groups:
            for p in group.parameters:
                self._make_states(group.options, [p], [])
                states = [[self.state[p][name]] for name in self._state_names(group.options)]
                self._update(group.options, 1, [p], [p.grad], states)


class Leaks(Optimizer):
    """Keeps a tensor for each failure."""

    kept: list[Any] = []

    def step(self, closure: Any = None) -> Any:
        """Fails after it has kept something."""
        self.kept.append(flow.ones(1000))
        flow.ones(1000)


def test_control() -> None:
    """An update that failed half-way, and one that keeps memory, are noticed."""

    def check(optimizer: Callable[[Any], Any]) -> None:
        fail_each(optimizer, 0)

    must_fail(check, lambda p: HalfStep(p, lr=0.1, momentum=0.9))
    must_fail(check, Leaks)
    Leaks.kept.clear()
