"""Gradients against finite differences; hooks, modes, and what must be refused."""

from __future__ import annotations

import threading
from collections.abc import Generator
from typing import Any

import numpy as np
import pytest
from tests.support import must_fail, numeric_gradient, raises, same, values

import oneflow as flow

F = flow.nn.functional
loose: Any = flow  # wrong types on purpose


def leaf(*data: float) -> Any:
    return flow.tensor(np.array(data, dtype=np.float64), requires_grad=True)


# Gradients of whole expressions; single ops have their generated tests.


def check_gradient(function: Any, x: np.ndarray[Any, Any]) -> None:
    """backward and grad agree with finite differences."""
    expected = numeric_gradient(function, x)
    tensor = flow.tensor(x, requires_grad=True)
    function(tensor).backward()
    same(tensor.grad, expected, 1e-5)
    again = flow.tensor(x, requires_grad=True)
    (gradient,) = flow.autograd.grad(function(again), again)
    same(gradient, expected, 1e-5)
    assert again.grad is None


TARGET = flow.tensor([0, 2, 1, 2])
WEIGHT = np.random.default_rng(5).standard_normal((3, 3))

EXPRESSIONS: dict[str, Any] = {
    "used twice": lambda x: (x * x + x).sum(),
    "broadcast": lambda x: (x * x[0] - x[:, 1:2]).mean(),
    "chain of views": lambda x: (x.transpose(0, 1).reshape(2, 6)[1] * 3).sum(),
    "matrix product": lambda x: (flow.matmul(x, flow.tensor(WEIGHT)) * x).sum(),
    "perceptron": lambda x: F.cross_entropy(
        F.linear(F.relu(F.linear(x, flow.tensor(WEIGHT))), flow.tensor(WEIGHT)), TARGET
    ),
    "log-likelihood": lambda x: F.nll_loss(F.log_softmax(x * 2, 1), TARGET),
    "diamond": lambda x: ((x + 1) * (x - 1) / 2 + (-x) * 0.5).sum(),
    "clone and slices": lambda x: (x.clone()[1:3, ::2] * x[0, 0]).sum(),
    "flattened": lambda x: (x.flatten() * flow.arange(12, dtype=flow.float64)).sum(),
}


@pytest.mark.parametrize("name", list(EXPRESSIONS))
def test_gradients(name: str) -> None:
    x = np.random.default_rng(4).standard_normal((4, 3))
    check_gradient(EXPRESSIONS[name], x)


def test_gradients_of_parameters() -> None:
    layer = flow.nn.Linear(3, 2).double()
    x = flow.tensor(np.random.default_rng(6).standard_normal((5, 3)))

    def loss(weight: Any) -> Any:
        out = F.linear(x, weight, layer.bias.detach())
        return (out * out).sum()

    out = layer(x)
    (out * out).sum().backward()
    same(layer.weight.grad, numeric_gradient(loss, values(layer.weight)), 1e-5)


def test_gradients_add_up() -> None:
    x = leaf(1, 2)
    (x * 3).sum().backward()
    (x * 4).sum().backward()
    same(x.grad, [7, 7])
    x.grad = None
    x.sum().backward()
    same(x.grad, [1, 1])


def test_a_gradient_to_start_from() -> None:
    x = leaf(1, 2)
    (x * x).backward(flow.tensor([10.0, 100.0], dtype=flow.float64))
    same(x.grad, [20, 400])
    y = leaf(3)
    flow.autograd.backward([y * 2, y * 3], [flow.ones(1, dtype=flow.float64)] * 2)
    same(y.grad, [5])


def test_grad_of_several() -> None:
    x, y = leaf(2), leaf(3)
    gx, gy = flow.autograd.grad([x * y, x * x], [x, y], [leaf(1).detach(), leaf(10).detach()])
    same(gx, [3 + 40])
    same(gy, [2])
    assert flow.autograd.grad(x * 2, [x, y], leaf(1).detach(), allow_unused=True)[1] is None


def test_retain_grad_and_intermediates() -> None:
    x = leaf(1, 2)
    y = x * 2
    y.retain_grad()
    (y * y).sum().backward()
    same(y.grad, [4, 8])
    assert y.grad_fn is not None
    assert not y.is_leaf


def test_second_backward_needs_retain_graph() -> None:
    x = leaf(1)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    same(x.grad, [4])
    with raises(RuntimeError, "retain_graph"):
        y.backward()
    same(x.grad, [4])


def test_detach_and_data_cut_history() -> None:
    x = leaf(1, 2)
    assert not (x * 2).detach().requires_grad
    assert x.detach().is_leaf
    y = (x.detach() * x).sum()
    y.backward()
    same(x.grad, [1, 2])
    x.data = flow.tensor([5.0, 6.0], dtype=flow.float64)
    assert x.requires_grad
    same(x, [5, 6])


# Hooks.


def test_hooks_see_and_replace_gradients() -> None:
    x = leaf(1)
    seen: list[float] = []
    first = x.register_hook(lambda g: seen.append(g.item()))
    second = x.register_hook(lambda g: g * 10)
    (x * 3).sum().backward()
    assert seen == [3.0]
    same(x.grad, [30])
    first.remove()
    second.remove()
    (x * 3).sum().backward()
    assert seen == [3.0]
    same(x.grad, [33])


def test_a_hook_on_an_intermediate() -> None:
    x = leaf(1)
    y = x * 2
    y.register_hook(lambda g: g + 1)
    (y * 5).sum().backward()
    same(x.grad, [12])


def test_an_error_in_a_hook_comes_through() -> None:
    x = leaf(1)

    def fail(g: Any) -> None:
        raise LookupError("hook failed")

    handle = x.register_hook(fail)
    with raises(LookupError, "hook failed"):
        (x * 2).sum().backward()
    handle.remove()
    x.grad = None
    (x * 2).sum().backward()
    same(x.grad, [2])


# Modes.


def test_no_grad_in_all_its_forms() -> None:
    x = leaf(1)

    @flow.no_grad()
    def called() -> Any:
        return x * 2

    def double() -> Any:
        return x * 2

    bare: Any = flow.no_grad(double)  # what @no_grad without parentheses does

    assert not called().requires_grad
    assert not bare().requires_grad
    with flow.no_grad():
        assert not (x * 2).requires_grad
        with flow.enable_grad():
            assert (x * 2).requires_grad
        assert not flow.is_grad_enabled()
    with flow.inference_mode(), flow.inference_mode(False):
        assert flow.is_grad_enabled()
    assert (x * 2).requires_grad
    assert loose.enable_grad(flow.is_grad_enabled)()
    assert not loose.inference_mode(flow.is_grad_enabled)()


def test_set_grad_enabled() -> None:
    with flow.set_grad_enabled(False):
        assert not flow.is_grad_enabled()
    assert flow.is_grad_enabled()
    flow.set_grad_enabled(False)
    assert not flow.is_grad_enabled()
    flow.set_grad_enabled(True)

    @flow.set_grad_enabled(False)
    def quiet() -> Any:
        return flow.is_grad_enabled()

    assert flow.is_grad_enabled()
    assert not quiet()


def test_modes_survive_errors() -> None:
    with pytest.raises(KeyError), flow.no_grad():
        raise KeyError
    assert flow.is_grad_enabled()

    @flow.no_grad()
    def fail() -> None:
        raise KeyError

    for _ in range(2):
        with pytest.raises(KeyError):
            fail()
    assert flow.is_grad_enabled()


def test_one_object_entered_twice() -> None:
    mode = flow.no_grad()
    with mode, mode:
        assert not flow.is_grad_enabled()
    assert flow.is_grad_enabled()


def test_generators_keep_the_mode_to_themselves() -> None:
    log: list[Any] = []

    @flow.no_grad()
    def steps() -> Generator[Any, Any, None]:
        try:
            got = yield flow.is_grad_enabled()
            log.append((got, flow.is_grad_enabled()))
            try:
                yield 1
            except KeyError:
                log.append(flow.is_grad_enabled())
            yield 2
        finally:
            log.append("closed")

    running = steps()
    assert next(running) is False
    assert flow.is_grad_enabled()
    assert running.send("sent") == 1
    assert running.throw(KeyError()) == 2
    running.close()
    assert log == [("sent", False), False, "closed"]
    assert flow.is_grad_enabled()

    @flow.no_grad()
    def counting() -> Any:
        yield 1
        return "end"

    def outer() -> Any:
        result = yield from counting()
        yield result

    assert list(outer()) == [1, "end"]


def test_the_mode_belongs_to_the_thread() -> None:
    seen: list[bool] = []
    with flow.no_grad():
        thread = threading.Thread(target=lambda: seen.append(flow.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


# In place.


def test_in_place_on_a_leaf_needs_no_grad() -> None:
    x = leaf(1, 2)
    with raises(RuntimeError, "leaf"):
        x.fill_(0)
    with raises(RuntimeError, "leaf"):
        x += 1
    same(x, [1, 2])
    with flow.no_grad():
        x.mul_(2)
    same(x, [2, 4])
    assert x.is_leaf


def test_what_was_saved_and_then_changed_is_noticed() -> None:
    x = leaf(1, 2)
    y = x * 1
    z = (y * y).sum()
    with flow.no_grad():
        y.zero_()
    with raises(RuntimeError, "modified|changed|in place"):
        z.backward()


def test_an_error_of_backward_names_the_line_of_the_forward_op() -> None:
    """Not so the error of an op whose line Python shows anyway."""
    x = leaf(1, 2)

    def squares() -> Any:
        return (x * x).sum()

    y = squares()
    y.backward()
    where = r"Related Python stack trace:.*in squares\n.*x \* x"
    with raises(RuntimeError, r"\[mul\] expects .* backward a second time", where):
        y.backward()
    with pytest.raises(RuntimeError) as caught:
        x + flow.ones(3)
    assert "stack trace" not in str(caught.value)


# Bad input.


def freed() -> None:
    x = leaf(1)
    y = (x * x).sum()
    y.backward()
    y.backward()


def unused() -> None:
    flow.autograd.grad((leaf(1) * 2).sum(), leaf(1))


BAD: list[tuple[Any, Any, str]] = [
    (lambda: flow.ones(1).sum().backward(), RuntimeError, "require"),
    (lambda: (leaf(1, 2) * 2).backward(), RuntimeError, "scalar|one element"),
    (lambda: (leaf(1, 2) * 2).backward(flow.ones(3)), RuntimeError, "shape"),
    (lambda: (leaf(1) * 2).backward(3), TypeError, "Tensor"),
    (freed, RuntimeError, "retain_graph"),
    (unused, RuntimeError, "allow_unused"),
    (lambda: flow.autograd.backward([]), ValueError, "at least one tensor as tensors"),
    (lambda: flow.autograd.backward([3]), TypeError, "expects tensors as tensors, got int"),
    (lambda: flow.autograd.backward(leaf(1), [None] * 2), ValueError, "one gradient for each of 1"),
    (lambda: flow.autograd.backward(leaf(1), [3]), TypeError, "gradients as tensors, got int"),
    (lambda: flow.autograd.grad(leaf(1), []), ValueError, "at least one tensor as inputs"),
    (lambda: flow.autograd.grad(leaf(1), [3]), TypeError, "expects tensors as inputs"),
    (lambda: loose.set_grad_enabled(1), TypeError, "expects a bool"),
    (lambda: leaf(1).register_hook(3), TypeError, "callable"),
    (lambda: setattr(flow.arange(2), "requires_grad", True), RuntimeError, "float"),
    (lambda: setattr(leaf(1) * 2, "requires_grad", False), RuntimeError, "leaf|detach"),
    (lambda: setattr(leaf(1), "grad", flow.ones(2, dtype=flow.float64)), TypeError, "shape"),
    (lambda: setattr(leaf(1), "grad", flow.ones(1)), TypeError, "float64, got.*float32"),
    (lambda: setattr(leaf(1), "grad", 3), TypeError, "Tensor.*got int"),
]


@pytest.mark.parametrize(("wrong", "kind", "message"), BAD)
def test_bad_input_is_a_clear_error(wrong: Any, kind: Any, message: str) -> None:
    with raises(kind, message):
        wrong()


def test_deep_graphs_end_without_a_crash() -> None:
    """100,000 ops in a row: neither backward nor the end of the graph may recurse."""
    x = leaf(1)
    y = x
    for _ in range(100_000):
        y = y + 1
    y.sum().backward()
    same(x.grad, [1])
    del y


# Positive control: a wrong derivative is caught.


def test_controls() -> None:
    def wrong(x: Any) -> Any:
        return (x * x.detach()).sum()

    must_fail(check_gradient, wrong, np.ones((2, 2)))


def test_the_array_of_a_tensor_with_history_is_its_data() -> None:
    x = leaf(1)
    y = x * 2
    assert y.numpy().tolist() == y.detach().numpy().tolist()
    assert np.asarray(y).tolist() == y.tolist()


def test_a_gradient_to_start_from_is_converted() -> None:
    x = leaf(1)
    (x * 3).sum().backward(flow.tensor(True))
    same(x.grad, np.full(x.shape, 3.0))
