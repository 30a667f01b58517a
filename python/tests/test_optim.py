"""Optimizers, against the same mathematics in NumPy."""

from __future__ import annotations

import copy
import gc
import warnings
from typing import Any

import numpy as np
import pytest
from tests.support import must_fail, raises, same, values

import oneflow as flow
from oneflow import nn
from oneflow.optim import SGD
from oneflow.optim.optimizer import required


class ReferenceSGD:
    """SGD as its docstring says it, in float64."""

    def __init__(self, start: np.ndarray[Any, Any], lr: float, **options: Any) -> None:
        self.p = start.astype(np.float64)
        self.lr = lr
        self.momentum = options.get("momentum", 0.0)
        self.dampening = options.get("dampening", 0.0)
        self.decay = options.get("weight_decay", 0.0)
        self.nesterov = options.get("nesterov", False)
        self.sign = -1.0 if options.get("maximize", False) and self.momentum else 1.0
        self.buffer: Any = 0.0

    def step(self, gradient: np.ndarray[Any, Any]) -> None:
        g = gradient + self.decay * self.p
        if self.momentum:
            self.buffer = self.momentum * self.buffer + (1 - self.dampening) * g
            g = g + self.momentum * self.buffer if self.nesterov else self.buffer
        self.p = self.p - self.sign * self.lr * g


OPTIONS: list[dict[str, Any]] = [
    {},
    {"momentum": 0.9},
    {"weight_decay": 0.1},
    {"momentum": 0.9, "dampening": 0.5},
    {"momentum": 0.9, "nesterov": True},
    {"momentum": 0.8, "weight_decay": 0.01, "maximize": True},
    {"momentum": 0.9, "nesterov": True, "weight_decay": 0.2},
    {"nesterov": True, "dampening": 0.5},
]


def check_sgd(make: Any, options: dict[str, Any], dtype: Any) -> None:
    """Eight steps along given gradients end where the reference ends."""
    rng = np.random.default_rng(0)
    start = rng.standard_normal((3, 4))
    parameter = nn.Parameter(flow.tensor(start, dtype=dtype))
    optimizer = make([parameter], lr=0.1, **options)
    reference = ReferenceSGD(start, 0.1, **options)
    for _ in range(8):
        gradient = rng.standard_normal((3, 4))
        parameter.grad = flow.tensor(gradient, dtype=dtype)
        optimizer.step()
        reference.step(gradient)
    same(parameter, reference.p, 1e-10 if dtype == flow.float64 else 1e-5)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("dtype", [flow.float32, flow.float64])
def test_sgd(options: dict[str, Any], dtype: Any) -> None:
    check_sgd(SGD, options, dtype)


def test_hints_of_oneflow_change_nothing() -> None:
    check_sgd(SGD, {"momentum": 0.9, "fused": True, "contiguous_params": True}, flow.float32)


def test_a_parameter_without_gradient_stays() -> None:
    a, b = nn.Parameter(flow.ones(2)), nn.Parameter(flow.ones(2))
    a.grad = flow.ones(2)
    SGD([a, b], lr=0.5, momentum=0.9).step()
    same(a, [0.5, 0.5])
    same(b, [1.0, 1.0])


def test_steps_are_not_recorded() -> None:
    p = nn.Parameter(flow.ones(2))
    (p * p).sum().backward()
    SGD([p], lr=0.1).step()
    assert p.is_leaf
    assert p.requires_grad
    same(p, [0.8, 0.8])


def test_groups_have_their_own_options() -> None:
    a, b = nn.Parameter(flow.ones(1)), nn.Parameter(flow.ones(1))
    optimizer = SGD([{"params": [a], "lr": 0.5}, {"params": b}], lr=0.1)
    a.grad = b.grad = flow.ones(1)
    optimizer.step()
    same(a, [0.5])
    same(b, [0.9])
    group = optimizer.param_groups[1]
    group["lr"] = 0.2
    assert group.options["lr"] == group.get("lr") == dict(group.items())["lr"] == 0.2
    assert group["params"][0] is b
    assert group.setdefault("note", 1) == 1
    assert "note" in group
    assert sorted(group)[:2] == ["dampening", "lr"]
    group["params"] = [a]
    assert group.parameters == [a]


def test_closure_runs_with_recording_on() -> None:
    p = nn.Parameter(flow.ones(1))
    optimizer = SGD([p], lr=0.1)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (p * 3).sum()
        loss.backward()
        return loss

    with flow.no_grad():
        assert optimizer.step(closure).item() == 3.0
    same(p, [0.7])


def test_zero_grad() -> None:
    p = nn.Parameter(flow.ones(2))
    optimizer = SGD([p], lr=0.1)
    optimizer.zero_grad()
    assert p.grad is None
    p.grad = flow.ones(2)
    optimizer.zero_grad()
    same(p.grad, [0.0, 0.0])
    optimizer.zero_grad(set_to_none=True)
    assert p.grad is None


def check_resume(restore: Any) -> None:
    """An optimizer that `restore(saved, fresh)` filled goes on exactly as the saved one."""
    rng = np.random.default_rng(3)
    gradients = rng.standard_normal((6, 2)).astype(np.float32)

    def run(p: Any, optimizer: Any, steps: Any) -> None:
        for gradient in steps:
            p.grad = flow.tensor(gradient)
            optimizer.step()

    whole = nn.Parameter(flow.ones(2))
    run(whole, SGD([whole], lr=0.1, momentum=0.9), gradients)
    first = nn.Parameter(flow.ones(2))
    saved = SGD([first], lr=0.1, momentum=0.9)
    run(first, saved, gradients[:3])
    second = nn.Parameter(first.detach().clone())
    fresh = SGD([second], lr=7.0)
    restore(saved, fresh)
    run(second, fresh, gradients[3:])
    np.testing.assert_array_equal(values(second), values(whole))


def test_resume() -> None:
    check_resume(lambda saved, fresh: fresh.load_state_dict(saved.state_dict()))


def test_resume_through_a_file(tmp_path: Any) -> None:
    def through_file(saved: Any, fresh: Any) -> None:
        flow.save(saved.state_dict(), tmp_path / "sgd.of")
        fresh.load_state_dict(flow.load(tmp_path / "sgd.of"))

    check_resume(through_file)


def test_loaded_state_is_a_copy_of_the_parameters_dtype() -> None:
    p = nn.Parameter(flow.ones(2))
    p.grad = flow.ones(2)
    a = SGD([p], lr=0.1, momentum=0.9)
    a.step()
    q = nn.Parameter(flow.ones(2, dtype=flow.float64))
    b = SGD([q], lr=0.1)
    b.load_state_dict(a.state_dict())
    assert b.state[q]["momentum_buf"].dtype == flow.float64
    b.state[q]["momentum_buf"].zero_()
    same(a.state[p]["momentum_buf"], [1.0, 1.0])


def test_a_failed_load_changes_nothing() -> None:
    def momentum(p: Any) -> Any:
        p.grad = flow.ones(*p.shape)
        optimizer = SGD([p], lr=0.1, momentum=0.9)
        optimizer.step()
        return optimizer

    target = momentum(nn.Parameter(flow.ones(2)))
    before = copy.deepcopy(target.state_dict())
    with raises(ValueError, r"expects state of shape \(2,\), got \(3,\)"):
        target.load_state_dict(momentum(nn.Parameter(flow.ones(3))).state_dict())
    bad = target.state_dict()
    bad["param_groups"][0]["lr"] = -1.0
    with raises(ValueError, "expects lr of at least 0"):
        target.load_state_dict(bad)
    after = target.state_dict()
    assert after["param_groups"] == before["param_groups"]
    same(after["state"][0]["momentum_buf"], values(before["state"][0]["momentum_buf"]))


def check_memory(step: Any) -> None:
    """After some steps, further ones hold no more memory; nothing waits for the collector."""
    gc.collect()
    gc.disable()
    try:
        held = []
        for _ in range(2):
            for _ in range(20):
                step()
            flow.cpu.synchronize()
            held.append(flow.cpu.memory_allocated())
        assert held[1] == held[0]
    finally:
        gc.enable()


def test_training_holds_no_more_memory_with_each_step() -> None:
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
    optimizer = SGD(net.parameters(), lr=0.1, momentum=0.9)
    x, y = flow.randn(4, 8), flow.tensor([0, 1, 2, 0])
    kept: list[Any] = []

    def step() -> Any:
        optimizer.zero_grad()
        loss = nn.CrossEntropyLoss()(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    check_memory(step)
    must_fail(check_memory, lambda: kept.append(nn.CrossEntropyLoss()(net(x), y)))


def test_parameters_of_nothing_and_gradients_that_are_no_numbers() -> None:
    empty, p = nn.Parameter(flow.zeros(0, 3)), nn.Parameter(flow.ones(2))
    optimizer = SGD([empty, p], lr=0.5, momentum=0.9)
    empty.grad = flow.zeros(0, 3)
    p.grad = flow.tensor([float("nan"), 1.0])
    optimizer.step()
    assert empty.shape == (0, 3)
    same(p, [float("nan"), 0.5])
    optimizer.load_state_dict(optimizer.state_dict())


def a_parameter() -> Any:
    return nn.Parameter(flow.ones(2))


def add_twice() -> None:
    p = a_parameter()
    SGD([p], lr=0.1).add_param_group({"params": [p]})


def other_sizes() -> None:
    SGD([a_parameter()]).load_state_dict(SGD([a_parameter(), a_parameter()]).state_dict())


loose: Any = SGD  # wrong types on purpose
BAD: list[tuple[Any, Any, str]] = [
    (lambda: loose([]), ValueError, "at least one parameter"),
    (lambda: loose(a_parameter()), TypeError, "expects params to be Tensors, or groups as dicts"),
    (
        lambda: loose({"params": []}),
        TypeError,
        "expects params to be Tensors, or groups as dicts, .* dict|dict",
    ),
    (lambda: loose(None), TypeError, "got NoneType"),
    (lambda: loose([3]), TypeError, "expects tensors as parameters, got int"),
    (lambda: loose({a_parameter()}), TypeError, "got a set; use a list"),
    (lambda: loose([a_parameter() * 2]), ValueError, "without history"),
    (
        lambda: loose([a_parameter()], lr=-1),
        ValueError,
        "expects lr of at least 0 and finite, got -1",
    ),
    (lambda: loose([a_parameter()], lr=float("nan")), ValueError, "lr .* finite"),
    (lambda: loose([a_parameter()], lr="0.1"), TypeError, "expects a number as lr, got str"),
    (lambda: loose([a_parameter()], momentum=-0.1), ValueError, "momentum"),
    (lambda: loose([a_parameter()], dampening=-0.1), ValueError, "dampening"),
    (lambda: loose([a_parameter()], weight_decay=-1), ValueError, "weight_decay"),
    (lambda: loose([a_parameter()], speed=1), TypeError, "speed"),
    (
        lambda: loose([a_parameter()]).add_param_group([1]),
        TypeError,
        'expects a dict with "params"',
    ),
    (add_twice, ValueError, "one group, got one that is in two"),
    (lambda: loose([a_parameter()]).load_state_dict({}), TypeError, "state and param_groups"),
    (other_sizes, ValueError, r"expects groups of \[1\] parameters, got \[2\]"),
    (lambda: flow.optim.Optimizer([a_parameter()], {}).step(), NotImplementedError, "step"),
    (lambda: flow.optim.Optimizer([a_parameter()], {"k": required}), ValueError, "expects k"),
]


@pytest.mark.parametrize(("wrong", "kind", "message"), BAD)
def test_bad_input_is_a_clear_error(wrong: Any, kind: Any, message: str) -> None:
    with raises(kind, message):
        wrong()


def test_a_parameter_twice_in_a_group_warns() -> None:
    p = a_parameter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        SGD([p, p])
    assert "twice" in str(caught[0].message)


def test_maximize_without_momentum_warns() -> None:
    with pytest.warns(FutureWarning, match="only with momentum"):
        check_sgd(SGD, {"maximize": True}, flow.float64)


def test_repr() -> None:
    assert "lr: 0.25" in repr(SGD([a_parameter()], lr=0.25))
    assert "'lr': 0.25" in repr(SGD([a_parameter()], lr=0.25).param_groups[0])


# Positive controls: planted faults.


class KeepsFirstGradient(SGD):
    """Begins from a buffer that makes the first step whole, as if it were not dampened."""

    def step(self, closure: Any = None) -> Any:
        for group in self.param_groups:
            for p in group.parameters:
                rest = p.grad * (group["dampening"] / group["momentum"])
                self.state[p].setdefault("momentum_buf", rest)
        return super().step(closure)


def forget_momentum(saved: Any, fresh: Any) -> None:
    state = saved.state_dict()
    fresh.load_state_dict({"state": {}, "param_groups": state["param_groups"]})


def test_controls() -> None:
    must_fail(check_sgd, KeepsFirstGradient, {"momentum": 0.9, "dampening": 0.5}, flow.float64)
    must_fail(check_resume, forget_momentum)
