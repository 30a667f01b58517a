"""autograd.Function: values, gradients, second gradients, and what a wrong one is told."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from tests.autograd.functions import (
    Doubled,
    Function,
    Identity,
    InNumpy,
    SavesOutput,
    ScaledProduct,
    Square,
    WithSetup,
)
from tests.support import must_fail, numeric_gradient, raises, same, values

import oneflow as flow


def leaf(*data: float) -> Any:
    return flow.tensor(np.array(data, dtype=np.float64), requires_grad=True)


X = np.random.default_rng(3).uniform(0.5, 1.5, (3, 2))
Y = np.random.default_rng(4).uniform(0.5, 1.5, (3, 2))

FUNCTIONS: dict[str, Any] = {
    "saves its argument": (lambda x: Square.apply(x), lambda x: x * x),
    "saves its result": (lambda x: SavesOutput.apply(x), lambda x: x**3),
    "several outputs": (
        lambda x: sum(ScaledProduct.apply(x, 3.0, flow.tensor(Y)), flow.zeros(1).double()),
        lambda x: x * Y * 3 + x - Y,
    ),
    "the second argument": (
        lambda x: ScaledProduct.apply(flow.tensor(Y), 3.0, x)[0],
        lambda x: x * Y * 3,
    ),
    "both arguments": (lambda x: ScaledProduct.apply(x, 2.0, x)[0], lambda x: x * x * 2),
    "setup_context": (lambda x: WithSetup.apply(x, 4.0), lambda x: x * 4),
    "in place": (lambda x: Doubled.apply(x * 3), lambda x: x * 6),
    "in numpy": (lambda x: InNumpy.apply(x), np.tanh),
    "returns its argument": (lambda x: Identity.apply(x) * 2, lambda x: x * 2),
    "an instance": (lambda x: Square()(x) + Square().apply(x), lambda x: x * x * 2),
    "nested": (lambda x: Square.apply(Square.apply(x)), lambda x: x**4),
}


def check(function: Any, expected: Any) -> None:
    """Values as NumPy has them, gradients as finite differences have them."""
    same(function(flow.tensor(X)), expected(X), 1e-12)
    weights = flow.tensor(Y)
    x = flow.tensor(X, requires_grad=True)
    (function(x) * weights).sum().backward()
    same(x.grad, numeric_gradient(lambda t: (function(t) * weights).sum(), X), 1e-5)


@pytest.mark.parametrize("name", list(FUNCTIONS))
def test_values_and_gradients(name: str) -> None:
    check(*FUNCTIONS[name])


@pytest.mark.parametrize(
    "name", ["saves its argument", "saves its result", "nested", "both arguments"]
)
def test_second_gradients(name: str) -> None:
    function = FUNCTIONS[name][0]

    def slope(x: Any) -> Any:
        x = x.detach().requires_grad_()
        (g,) = flow.autograd.grad(function(x).sum(), x, create_graph=True)
        return (g * g).sum()

    x = flow.tensor(X, requires_grad=True)
    (g,) = flow.autograd.grad(function(x).sum(), x, create_graph=True)
    (g * g).sum().backward()
    same(x.grad, numeric_gradient(slope, X), 1e-5)


# What ctx offers.


def test_saved_tensors_are_the_tensors_themselves() -> None:
    seen = []

    class Looks(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.save_for_backward(x, y)
            return x + y

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            seen.extend(ctx.saved_tensors)
            return dy, dy

    x, y = leaf(1), leaf(2)
    out = Looks.apply(x, y)
    assert repr(out.grad_fn) == "<Looks_backward>" and out.grad_fn.name() == "Looks"
    assert [node.name() for node, _ in out.grad_fn.next_functions] == ["AccumulateGrad"] * 2
    out.backward()
    assert seen[0] is x and seen[1] is y


def test_needs_input_grad_and_modes() -> None:
    seen: list[Any] = []

    class Looks(Function):
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            seen.append((ctx.needs_input_grad, flow.is_grad_enabled()))
            return args[0] * 1

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            seen.append(flow.is_grad_enabled())
            return (dy, None, None)

    Looks.apply(leaf(1), flow.ones(1), "text").backward()
    assert seen == [((True, False, False), False), False]
    x = leaf(1)
    flow.autograd.grad(Looks.apply(x, 1, 2), x, create_graph=True)
    assert seen[-1] is True
    with flow.no_grad():
        assert not Looks.apply(leaf(1), 1, 2).requires_grad
    assert not Looks.apply(flow.ones(1), 1, 2).requires_grad


def test_missing_gradients_are_zeros_or_none() -> None:
    seen: list[Any] = []

    class Two(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, materialize: bool) -> Any:
            ctx.set_materialize_grads(materialize)
            return x * 1, x * 2, 7

        @staticmethod
        def backward(ctx: Any, d_first: Any, d_second: Any, d_number: Any) -> Any:
            seen.append((d_second, d_number))
            return d_first, None

    x = leaf(1, 2)
    Two.apply(x, True)[0].sum().backward()
    Two.apply(x, False)[0].sum().backward()
    same(seen[0][0], [0, 0])
    assert seen[0][1] is None and seen[1] == (None, None)
    same(x.grad, [2, 2])


def test_what_has_no_derivative() -> None:
    class Parts(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            positive = x - 1
            index = flow.argmax(x)
            ctx.mark_non_differentiable(positive)
            return x * 2, positive, index

        @staticmethod
        def backward(ctx: Any, dx: Any, d_positive: Any, d_index: Any) -> Any:
            same(d_positive, [0, 0])
            return dx * 2

    x = leaf(1, 3)
    double, positive, index = Parts.apply(x)
    assert double.requires_grad and not positive.requires_grad and not index.requires_grad
    assert positive.grad_fn is None and index.item() == 1
    double.sum().backward()
    same(x.grad, [2, 2])


def test_in_place_keeps_the_object_and_its_history() -> None:
    x = leaf(1, 2)
    y = x * 3
    version = y._version
    assert Doubled.apply(y) is y
    assert y._version > version
    assert y.grad_fn.name() == "Doubled"
    same(y, [6, 12])
    y.sum().backward()
    same(x.grad, [6, 6])


def test_a_returned_argument_is_another_tensor() -> None:
    x = leaf(1)
    y = Identity.apply(x)
    assert y is not x and x.is_leaf and not y.is_leaf
    assert y.data_ptr() == x.data_ptr()
    with raises(RuntimeError, "in place on a view"):
        y.mul_(2)


def test_history_made_inside_forward_is_not_kept() -> None:
    w = leaf(5)

    class Recording(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            with flow.enable_grad():
                return x * w

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            return dy * 100

    x = leaf(2)
    Recording.apply(x).backward()
    same(x.grad, [100])
    assert w.grad is None


def test_a_backward_inside_backward() -> None:
    """As checkpointing does: forward is repeated, with its own graph."""

    class Again(Function):
        @staticmethod
        def forward(ctx: Any, depth: int, x: Any) -> Any:
            ctx.depth, ctx.x = depth, x.detach()
            return x * x

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            with flow.enable_grad():
                x = ctx.x.requires_grad_()
                y = Again.apply(ctx.depth - 1, x) if ctx.depth else x * x
            flow.autograd.backward(y, dy)
            return None, x.grad

    for depth in (0, 1, 50):
        x = leaf(3)
        Again.apply(depth, x * 1).backward()
        same(x.grad, [6])
        assert not x.grad.requires_grad


def test_in_many_threads() -> None:
    """They share a leaf; each sum of gradients arrives whole."""
    x = leaf(1, 2, 3)
    errors: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(30):
                (Square.apply(x) * SavesOutput.apply(x)).sum().backward()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    same(x.grad, 120 * 5 * np.array([1.0, 2, 3]) ** 4)


def test_ctx_outlives_its_graph_quietly() -> None:
    kept: list[Any] = []

    class Keeps(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            with raises(RuntimeError, r"\[Keeps\] ctx.saved_tensors is for backward"):
                ctx.saved_tensors  # noqa: B018
            kept.append(ctx)
            return x * 1

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            return dy

    y = Keeps.apply(leaf(1))
    assert len(kept[0].saved_tensors) == 1
    del y
    with raises(RuntimeError, r"\[Keeps\] ctx.saved_tensors is for backward"):
        kept[0].saved_tensors  # noqa: B018


# Backward a second time, and changes in between.


def test_saved_tensors_are_freed() -> None:
    x = leaf(3)
    y = Square.apply(x)
    y.backward(retain_graph=True)
    y.backward()
    same(x.grad, [12])
    with raises(RuntimeError, r"\[Square\] expects .* backward a second time.*retain_graph=True"):
        y.backward()
    z = Identity.apply(x)  # saved nothing
    z.backward()
    z.backward()


def test_a_saved_tensor_was_changed() -> None:
    x = leaf(1, 2)
    y = x * 1
    for function, which in ((Square, 0), (SavesOutput, 2)):
        out = function.apply(y)
        with flow.no_grad():
            (y if which == 0 else out).add_(1)
        with raises(RuntimeError, rf"\[{function.__name__}\].*number {which} .*changed in place"):
            out.sum().backward()


def test_once_differentiable() -> None:
    x = leaf(0.5)
    (g,) = flow.autograd.grad(InNumpy.apply(x * 1), x, create_graph=True)
    same(g, [1 - np.tanh(0.5) ** 2])
    assert not g.requires_grad  # the gradient that it began with needs none: nothing to refuse
    seed = leaf(1)
    (g,) = flow.autograd.grad(InNumpy.apply(x * 1), x, seed, create_graph=True)
    assert g.requires_grad
    with raises(RuntimeError, r"\[InNumpy\] expects to be differentiated once"):
        flow.autograd.grad(g, seed)


# Wrong functions.


def returning(result: Any) -> Any:
    """Applies a function of two tensors and a number whose backward returns `result`."""

    class Wrong(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, number: int, y: Any) -> Any:
            return x * y

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            return result

    return Wrong.apply(leaf(1, 2), 3, leaf(3, 4)).sum()


def forward_does(act: Any, *args: Any) -> Any:
    class Wrong(Function):
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            return act(ctx, *args)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return grads

    return Wrong.apply(*args)


def without_backward() -> Any:
    class NoBackward(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

    return NoBackward.apply(leaf(1))


loose: Any = Square  # wrong calls on purpose
GOOD = flow.ones(2, dtype=flow.float64)
BAD: list[tuple[Any, Any, str]] = [
    (lambda: returning(GOOD).backward(), RuntimeError, r"\[Wrong.backward\].*3 gradients.*got 1"),
    (lambda: returning((GOOD, None)).backward(), RuntimeError, "3 gradients.*got 2"),
    (lambda: returning((GOOD, None, GOOD, GOOD)).backward(), RuntimeError, "3 gradients.*got 4"),
    (lambda: returning(None).backward(), RuntimeError, "3 gradients.*got 1"),
    (lambda: returning((GOOD, GOOD, GOOD)).backward(), RuntimeError, "None as gradient 1.*no Tens"),
    (lambda: returning((2.0, None, GOOD)).backward(), TypeError, "as gradient 0, got float"),
    (
        lambda: returning((GOOD, None, flow.ones(3, dtype=flow.float64))).backward(),
        RuntimeError,
        r"gradient 2 to have shape \(2,\), dtype float64.*got \(3,\)",
    ),
    (lambda: returning((flow.ones(2), None, GOOD)).backward(), RuntimeError, "gradient 0.*float32"),
    (lambda: Function.apply(leaf(1)), NotImplementedError, "defines forward"),
    (lambda: without_backward().backward(), NotImplementedError, "defines backward"),
    (lambda: loose.apply(x=leaf(1)), TypeError, "keyword"),
    (lambda: loose.apply(), TypeError, "forward"),
    (lambda: loose.apply(leaf(1), 2), TypeError, "forward"),
    (
        lambda: forward_does(lambda c, x: c.save_for_backward(x, 3), leaf(1)),
        TypeError,
        r"\[Wrong.save_for_backward\] expects Tensors or None, got int",
    ),
    (
        lambda: forward_does(lambda c, x: c.mark_dirty(None), leaf(1)),
        TypeError,
        r"\[Wrong.mark_dirty\] expects Tensors, got NoneType",
    ),
    (
        lambda: forward_does(lambda c, x: c.set_materialize_grads(1), leaf(1)),
        TypeError,
        "expects a bool, got int",
    ),
    (
        lambda: forward_does(lambda c, x: (c.mark_dirty(x), x * 2)[1], leaf(1) * 2),
        RuntimeError,
        r"\[Wrong.mark_dirty\] expects arguments of forward that forward returns",
    ),
    (
        lambda: forward_does(lambda c, x: (c.mark_non_differentiable(x), x * 2)[1], leaf(1)),
        RuntimeError,
        "expects outputs of forward",
    ),
    (
        lambda: forward_does(lambda c, x: (c.mark_dirty(x), x)[1], leaf(1)),
        RuntimeError,
        "in place on a leaf",
    ),
    (
        lambda: forward_does(lambda c, x: (c.mark_dirty(x), x)[1], (leaf(1, 2) * 2)[:1]),
        RuntimeError,
        "in place on a view",
    ),
]


@pytest.mark.parametrize(("wrong", "kind", "message"), BAD)
def test_a_wrong_function_is_told(wrong: Any, kind: Any, message: str) -> None:
    with raises(kind, message):
        wrong()
    check(*FUNCTIONS["saves its argument"])


def test_trailing_none_is_allowed() -> None:
    x = leaf(1)
    forward_does(lambda c, x: x * 1, x).backward()
    same(x.grad, [1])
    returning((GOOD, None, GOOD, None, None)).backward()


# Positive controls.


def test_controls() -> None:
    class Wrong(Square):
        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            return Square.backward(ctx, dy) * 1.001

    must_fail(check, Wrong.apply, lambda x: x * x)
    must_fail(check, Square.apply, lambda x: x * x * 1.001)
    assert values(Square.apply(flow.tensor(X))).shape == X.shape
