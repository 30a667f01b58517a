"""Ops in place and autograd: no gradient is lost, none is wrong without a word."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
from tests.support import raises, same

import oneflow as flow


def leaf(*data: float) -> Any:
    return flow.tensor(list(data), requires_grad=True)


# A view does not pass its history on to its base.


@pytest.mark.parametrize("key", [0, slice(0, 1), ...])
def test_values_with_history_are_not_written_into_a_view(key: Any) -> None:
    x = flow.zeros(3)
    with raises(RuntimeError, "in place on a view", "value that requires grad"):
        x[key] = leaf(2.0)[0] * 1
    x[key] = leaf(2.0)[0].detach()
    with flow.no_grad():
        x[key] = leaf(3.0)[0]
    assert not x.requires_grad and x[0].item() == 3


def test_a_view_made_before_its_base_got_a_history() -> None:
    x = flow.zeros(2)
    view = x[0]
    x.copy_(leaf(1.0, 2.0))
    with raises(RuntimeError, "a view", "changed in place", "make the view again"):
        view.sum()
    assert x[0].sum().requires_grad
    with flow.no_grad():
        assert view.sum().item() == 1


def test_a_view_made_before_its_base_was_changed() -> None:
    w = leaf(1.0, 1.0, 1.0)
    x = w * 1
    view = x[0:2].view(2)
    x.mul_(3)
    with raises(RuntimeError, "a view"):
        view.sum()
    x[0:2].sum().backward()
    same(w.grad, [3, 3, 0])


def test_a_view_of_a_weight_outlives_an_update() -> None:
    w = leaf(1.0, 2.0)
    view = w.view(2)
    with flow.no_grad():
        w.add_(1)
    (view * view).sum().backward()
    same(w.grad, [4, 6])


# Broadcast and converted values.


def test_gradient_of_a_broadcast_and_converted_copy() -> None:
    w = flow.tensor([2.0], dtype=flow.float64, requires_grad=True)
    y = flow.ones(2, 3)
    y.copy_(w)
    y.sum().backward()
    same(w.grad, [6])
    assert w.grad.dtype == flow.float64


def test_a_product_with_itself() -> None:
    y = leaf(1.0, 2.0) * 2
    y.mul_(y)
    with raises(RuntimeError, "changed in place"):
        y.sum().backward()


def test_a_product_with_itself_leaves_no_cycle() -> None:
    w = leaf(1.0, 2.0)

    class Note:
        pass

    note = Note()
    watch = weakref.ref(note)
    y = w * 2
    y.register_hook(lambda _grad, note=note: None)
    y.mul_(y)
    del y, note
    gc.collect()
    assert watch() is None


# Gradients that are kept belong to their tensor alone.


def test_a_retained_gradient_is_a_copy() -> None:
    w = leaf(1.0, 2.0)
    a = w * 2
    b = a.view(2)
    a.retain_grad()
    b.retain_grad()
    b.sum().backward()
    b.grad.mul_(0)
    same(a.grad, [1, 1])
    same(w.grad, [2, 2])


def test_a_tensor_is_not_its_own_gradient() -> None:
    x = flow.ones(2)
    with raises(RuntimeError, "own gradient"):
        x.grad = x
