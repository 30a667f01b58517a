"""Anomaly mode: the first NaN is named by its forward line, and no later one."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from tests.autograd.functions import Function, Square
from tests.autograd.stacks import text
from tests.support import must_fail, raises, same

import oneflow as flow

autograd = flow.autograd
NAN = float("nan")
INFINITY = float("inf")


@pytest.fixture(autouse=True, params=["inline", "queued"])
def mode(request: pytest.FixtureRequest) -> Iterator[None]:
    flow._oneflow_internal.set_vm_mode(request.param)
    yield
    flow._oneflow_internal.set_vm_mode(os.environ.get("ONEFLOW_TEST_VM_MODE", "auto"))
    assert not autograd.is_anomaly_enabled()


def leaf(*data: float) -> Any:
    return flow.tensor(np.array(data, dtype=np.float32), requires_grad=True)


class NanInBackward(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 1

    @staticmethod
    def backward(ctx: Any, dy: Any) -> Any:
        return dy * NAN


class NanInSecondBackward(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 1

    @staticmethod
    def backward(ctx: Any, dy: Any) -> Any:
        return NanInBackward.apply(dy)  # made in the first backward


def quotient(x: Any) -> Any:
    a = x * 2
    b = a / a  # the NaN of a quotient
    return (b * 3).sum()


def two_quotients(x: Any) -> Any:
    a = x * 2
    b = a / a  # met later by backward
    c = x / x  # the NaN that backward meets first
    return (b * 3 + c).sum()


def two_in_a_row(x: Any) -> Any:
    a = NanInBackward.apply(x * 2)  # further from the end
    b = NanInBackward.apply(a * 2)  # nearer to the end
    return b.sum()


def function(x: Any) -> Any:
    return NanInBackward.apply(x * 2).sum()  # the NaN of a function


def hook(x: Any) -> Any:
    y = x * 2  # the op whose gradient the hook spoils
    y.register_hook(lambda grad: grad * NAN)
    return (y * 3).sum()


def cancelling(x: Any) -> Any:
    y = x * 2  # the op into which infinities flow
    return (y * INFINITY).sum() + (y * -INFINITY).sum()


CASES: dict[str, tuple[Callable[[Any], Any], str, str, str]] = {
    "quotient": (quotient, "div", "the NaN of a quotient", "gave for input 1"),
    "two quotients": (two_quotients, "div", "the NaN that backward meets first", "input 1"),
    "two in a row": (two_in_a_row, "NanInBackward", "nearer to the end", "gave for input 0"),
    "function": (function, "NanInBackward", "the NaN of a function", "gave for input 0"),
    "hook": (hook, "mul", "the op whose gradient the hook spoils", "a hook gave"),
    "sum": (cancelling, "mul", "the op into which infinities flow", "the sum of the"),
}


def check_named(make: Callable[[Any], Any], op: str, line: str, what: str) -> None:
    """Backward raises, and says the op, what was NaN, the forward line and its own."""
    x = leaf(0, 0)
    y = make(x)
    with autograd.detect_anomaly(), pytest.raises(RuntimeError) as caught:
        y.backward()  # the line that called backward
    error: Any = caught.value
    assert error.op == op
    message = str(error).splitlines()[0]
    assert message.startswith(f"[{op}] anomaly: ") and what in message
    forward = text(error.stack).rstrip().splitlines()
    assert any(line in shown for shown in forward[-2:]), forward
    assert "# the line that called backward" in text(error.backward_stack)
    at = [str(error).index(part) for part in (line, "During backward", "that called backward")]
    assert at == sorted(at)
    assert x.grad is None


@pytest.mark.parametrize("name", list(CASES))
def test_the_first_nan_is_named(name: str) -> None:
    check_named(*CASES[name])


def test_without_nan_nothing_changes() -> None:
    x = leaf(1, 2)
    with autograd.detect_anomaly(check_forward=True):
        (Square.apply(x) / x * 2).sum().backward()
        (flow.ones(0, requires_grad=True) * 2).sum().backward()
    same(x.grad, [2, 2])


def test_in_a_second_backward() -> None:
    x, seed = leaf(1), leaf(1)
    y = NanInSecondBackward.apply(x)  # the forward line
    with autograd.detect_anomaly(), pytest.raises(RuntimeError) as caught:
        (g,) = autograd.grad(y, x, seed, create_graph=True)  # the first
        g.backward()  # the second
    error: Any = caught.value
    assert error.op == "NanInBackward"
    assert "# made in the first backward" in text(error.stack)
    assert "# the first" in text(error.stack)
    assert "# the forward line" in text(error.forward_stack)
    assert "# the second" in text(error.backward_stack)


def test_the_gradient_to_start_from() -> None:
    x = leaf(1, 2)
    with autograd.detect_anomaly(), raises(RuntimeError, "anomaly: the gradient to start from"):
        (x * 2).backward(flow.tensor([1.0, NAN]))


def test_forward() -> None:
    x = leaf(0, 1)
    with autograd.detect_anomaly(check_forward=True):
        with pytest.raises(RuntimeError) as caught:
            quotient(x)
        error: Any = caught.value
        assert (error.op, str(error).splitlines()[0]) == (
            "div",
            "[div] anomaly: output 0 of shape (2,) has a NaN; no input has one",
        )
        with raises(RuntimeError, r"\[mul\] anomaly: output 0 .*; so has input 1"):
            x * flow.tensor([NAN, 1])
        with raises(RuntimeError, r"\[Square\] anomaly: output 0"):
            Square.apply(leaf(NAN))
        y = x * 1
        with raises(RuntimeError, r"\[mul\] anomaly: output 0"):
            y.mul_(flow.tensor([NAN, 1]))
        flow.tensor([0.0]) / flow.tensor([0.0])  # autograd does not record it
    assert np.isnan(quotient(x).item())


def test_a_failure_is_no_anomaly() -> None:
    """What cannot be read for another reason is told as that."""
    y = Fails.apply(leaf(1) * 2)
    with autograd.detect_anomaly(), raises(RuntimeError, r"\[throw_error\]"):
        y.sum().backward()


class Fails(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 1

    @staticmethod
    def backward(ctx: Any, dy: Any) -> Any:
        return flow._C.throw_error(dy)


# Switching.


def test_switching() -> None:
    x = leaf(0)
    with autograd.detect_anomaly():
        assert autograd.is_anomaly_enabled()
        with autograd.set_detect_anomaly(False):
            assert not autograd.is_anomaly_enabled()
            (x / x).backward()
            with autograd.detect_anomaly(check_nan=False):
                (x / x).backward()
            with pytest.raises(KeyError), autograd.detect_anomaly():
                raise KeyError
            assert not autograd.is_anomaly_enabled()
        assert autograd.is_anomaly_enabled()
    again = autograd.detect_anomaly()
    with again, again:
        assert autograd.is_anomaly_enabled()
    assert not autograd.is_anomaly_enabled()
    autograd.set_detect_anomaly(True)
    assert autograd.is_anomaly_enabled()
    autograd.set_detect_anomaly(False)
    setter = autograd.set_detect_anomaly(True)
    for _ in range(2):
        with setter:
            assert autograd.is_anomaly_enabled()
        assert not autograd.is_anomaly_enabled()


def test_it_belongs_to_the_process() -> None:
    seen: list[bool] = []
    with autograd.detect_anomaly():
        thread = threading.Thread(target=lambda: seen.append(autograd.is_anomaly_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_off_costs_nothing() -> None:
    """Not one op more: the pool is asked for memory as often as before it was ever on."""

    def allocations() -> int:
        before = flow.cpu.memory_stats()["allocations"]
        x = leaf(1, 2)
        (x * x / x).sum().backward()
        return int(flow.cpu.memory_stats()["allocations"] - before)

    off = allocations()
    with autograd.detect_anomaly():
        on = allocations()
    assert allocations() == off < on


loose: Any = autograd
BAD: list[Any] = [
    lambda: loose.set_detect_anomaly(1),
    lambda: loose.set_detect_anomaly(True, 1),
    lambda: loose.set_detect_anomaly(True, check_forward=None),
    lambda: loose.set_detect_anomaly(),
    lambda: loose.detect_anomaly("yes"),
    lambda: loose.detect_anomaly(check_forward=0),
]


@pytest.mark.parametrize("wrong", BAD)
def test_bad_input(wrong: Any) -> None:
    with pytest.raises(TypeError):
        wrong()


def test_controls() -> None:
    """Another op, or another line, is noticed."""
    make, op, line, what = CASES["two quotients"]
    must_fail(check_named, make, "mul", line, what)
    must_fail(check_named, make, op, "met later by backward", what)
    must_fail(check_named, make, op, line, "input 7")
