"""Cycles through the tape: those that nothing uses die, those that something uses live."""

from __future__ import annotations

import functools
import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from tests.autograd.functions import Function, Square
from tests.support import must_fail, same

import oneflow as flow


class Probe:
    """Dies with the cycle that holds it."""


@pytest.fixture(autouse=True)
def collector_off() -> Iterator[None]:
    gc.collect()
    gc.disable()
    gc.freeze()  # what is there already: collections are quick then
    yield
    gc.unfreeze()
    gc.enable()


def keeping(probe: Probe, *more: Any) -> Callable[[Any], None]:
    """A hook that changes nothing and holds what it is given."""

    def hook(grad: Any) -> None:
        assert probe is not None and more is not None

    return hook


def holder(probe: Probe, held: list[Any]) -> Any:
    """A Function whose ctx holds `probe` and `held`."""

    class Holder(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.probe, ctx.held = probe, held
            out = x * 2
            held.append(out)
            return out

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            return dy * 2

    return Holder


# Each makes a cycle that holds the probe, and returns what one would use it by.


def hook_of_a_leaf(probe: Probe) -> Any:
    x = flow.ones(2, requires_grad=True)
    x.register_hook(keeping(probe, x))
    return x


def hook_of_a_result(probe: Probe) -> Any:
    y = flow.ones(2, requires_grad=True) * 2
    y.register_hook(keeping(probe, y))
    return y


def hook_that_holds_what_comes_later(probe: Probe) -> Any:
    y = flow.ones(2, requires_grad=True) * 2
    z = (y * y).sum() + 1
    y.register_hook(keeping(probe, z))
    return z


def hook_in_a_diamond(probe: Probe) -> Any:
    y = flow.ones(2, requires_grad=True) * 2
    z = (y * y + y).sum() * (y * 3).sum()
    y.register_hook(keeping(probe, z))
    return z


def hook_that_is_a_partial(probe: Probe) -> Any:
    y = flow.ones(2, requires_grad=True) * 2
    z = y + 1
    y.register_hook(functools.partial(lambda held, grad: None, (z, probe)))
    return z


def hook_that_is_a_method(probe: Probe) -> Any:
    class Owner:
        def __init__(self) -> None:
            self.probe = probe
            self.y = flow.ones(2, requires_grad=True) * 2
            self.handle = self.y.register_hook(self.hook)

        def hook(self, grad: Any) -> None:
            pass

    return Owner().y


def hook_that_holds_its_handle(probe: Probe) -> Any:
    y = flow.ones(2, requires_grad=True) * 2
    held: list[Any] = [y]
    held.append(y.register_hook(keeping(probe, held)))
    return y


def hook_that_holds_its_node(probe: Probe) -> Any:
    y = flow.ones(2, requires_grad=True) * 2
    held: list[Any] = []
    y.register_hook(keeping(probe, held))
    held.append(y.grad_fn)
    return y


def hook_by_a_view(probe: Probe) -> Any:
    y = flow.ones(2, 2, requires_grad=True) * 2
    view = y[0]
    y.register_hook(keeping(probe, view))
    return view


def ctx_that_holds_the_result(probe: Probe) -> Any:
    return holder(probe, []).apply(flow.ones(2, requires_grad=True))


def ctx_that_holds_what_comes_later(probe: Probe) -> Any:
    held: list[Any] = []
    y = holder(probe, held).apply(flow.ones(2, requires_grad=True) * 3)
    z = (Square.apply(y) + y).sum()
    held[:] = [z]
    return z


def ctx_by_a_gradient(probe: Probe) -> Any:
    """The gradient of a leaf has a history that leads to a ctx which holds the leaf."""
    x = flow.ones(2, requires_grad=True)
    held: list[Any] = []
    y = holder(probe, held).apply(x)
    held[:] = [x]
    (y * y).sum().backward(create_graph=True)
    return x


def ctx_by_a_gradient_that_was_read(probe: Probe) -> Any:
    """The same, with the gradient as a Python object, which the leaf keeps."""
    x = ctx_by_a_gradient(probe)
    assert x.grad is not None
    return x


def gradient_that_holds_its_leaf(probe: Probe) -> Any:
    x = flow.ones(2, requires_grad=True)
    x.sum().backward()
    x.grad.held = (x, probe)
    return x


def in_place(probe: Probe) -> Any:
    """The wrapper is older than its place on the tape."""
    y = flow.ones(2)
    y.add_(flow.ones(2, requires_grad=True))
    y.register_hook(keeping(probe, y))
    return y


CYCLES = [
    hook_of_a_leaf,
    hook_of_a_result,
    hook_that_holds_what_comes_later,
    hook_in_a_diamond,
    hook_that_is_a_partial,
    hook_that_is_a_method,
    hook_that_holds_its_handle,
    hook_that_holds_its_node,
    hook_by_a_view,
    ctx_that_holds_the_result,
    ctx_that_holds_what_comes_later,
    ctx_by_a_gradient,
    ctx_by_a_gradient_that_was_read,
    gradient_that_holds_its_leaf,
    in_place,
]
BY_A_GRADIENT = [
    ctx_by_a_gradient,
    ctx_by_a_gradient_that_was_read,
    gradient_that_holds_its_leaf,
]


def watched(make: Callable[[Probe], Any]) -> tuple[Any, weakref.ref[Probe]]:
    probe = Probe()
    return make(probe), weakref.ref(probe)


def check_dies(make: Callable[[Probe], Any]) -> None:
    """It is a cycle: it lives until the collector runs, and no longer."""
    alive = watched(make)[1]
    assert alive() is not None
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("make", CYCLES)
def test_a_cycle_that_nothing_uses_dies(make: Callable[[Probe], Any]) -> None:
    check_dies(make)


@pytest.mark.parametrize("make", CYCLES)
def test_a_cycle_that_is_used_lives(make: Callable[[Probe], Any]) -> None:
    used, alive = watched(make)
    for _ in range(3):
        gc.collect()
    assert alive() is not None
    if not used.is_leaf:
        used.sum().backward()
    else:
        (used * 2).sum().backward()
    del used
    gc.collect()
    assert alive() is None


# A leaf is not kept by what was computed from it, nor then is its gradient.
@pytest.mark.parametrize("make", [make for make in CYCLES if make not in BY_A_GRADIENT])
def test_the_tape_alone_keeps_it(make: Callable[[Probe], Any]) -> None:
    """Only something computed from it is left."""
    used, alive = watched(make)
    used = (used * 1.5).sum()
    gc.collect()
    assert alive() is not None
    used.backward()
    del used
    gc.collect()
    assert alive() is None


def test_a_result_without_a_wrapper() -> None:
    """Its wrapper went, and came again, while the tape kept it."""
    calls: list[int] = []
    x = flow.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda grad: calls.append(1))
    z = y * y
    del y
    gc.collect()
    z.sum().backward()
    assert calls == [1]
    same(x.grad, [8, 8])


def test_a_chain_goes_link_by_link() -> None:
    """The other limit: each result is held by a hook of its own, and each collection takes one."""

    def chain(alive: list[Any]) -> None:
        y = flow.ones(2, requires_grad=True)
        for _ in range(4):
            y = y * 2
            probe = Probe()
            alive.append(weakref.ref(probe))
            y.register_hook(keeping(probe, y))

    alive: list[Any] = []
    chain(alive)
    for left in (3, 2, 1, 0):
        gc.collect()
        assert [probe() is not None for probe in alive] == [True] * left + [False] * (4 - left)


def test_two_owners_are_left_alone() -> None:
    """The documented limit: two live results of one Function, both held by its ctx."""
    held: list[Any] = []
    alive: list[Any] = []

    class Two(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.probe, ctx.held = Probe(), held
            alive.append(weakref.ref(ctx.probe))
            return x * 2, x * 3

        @staticmethod
        def backward(ctx: Any, a: Any, b: Any) -> Any:
            return a * 2 + b * 3

    x = flow.ones(1, requires_grad=True)
    held.extend(Two.apply(x))
    gc.collect()
    assert alive[0]() is not None
    (held[0] + held[1]).sum().backward()
    same(x.grad, [5])
    held.clear()  # what a program does that wants its memory back
    assert alive[0]() is None


def test_collections_at_every_moment() -> None:
    """A collection at (nearly) every allocation takes nothing that is used."""
    gc.enable()
    before = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    try:
        seen: list[float] = []
        x = flow.tensor(np.arange(3.0), requires_grad=True)
        for _ in range(10):
            y = Square.apply(x * 2)
            y.register_hook(lambda grad: seen.append(grad.sum().item()))
            z = holder(Probe(), []).apply(y + x)
            z.register_hook(keeping(Probe(), z, y))
            (z * y).sum().backward()
        assert len(seen) == 10
        a = np.arange(3.0)  # y = 4 x^2, z = 2 (y + x)
        y_, z_ = 4 * a**2, 2 * (4 * a**2 + a)
        same(x.grad, 10 * (2 * y_ * (8 * a + 1) + z_ * 8 * a), 1e-4)
    finally:
        gc.set_threshold(*before)


def test_memory_is_flat() -> None:
    """Cycles with 64 KiB each: what is in use does not grow, while they are made and die."""

    def cycle() -> None:
        x = flow.ones(128, 128, requires_grad=True)
        y = Square.apply(x)
        y.register_hook(keeping(Probe(), y))
        holder(Probe(), []).apply(y).sum().backward()

    def in_use() -> int:
        while gc.collect():
            pass
        flow._oneflow_internal.sync()
        return int(flow.cpu.memory_stats()["allocated"])

    cycle()
    start = in_use()
    peak = 0
    for i in range(600):
        cycle()
        if i % 50 == 49:
            peak = max(peak, in_use())
    assert peak <= start + (1 << 16)


def test_controls() -> None:
    """A cycle that is still held is no pass."""
    kept: list[Any] = []

    def held_elsewhere(probe: Probe) -> Any:
        kept.append(hook_of_a_result(probe))

    must_fail(check_dies, held_elsewhere)
