"""Ops in place and autograd: no gradient is lost, none is wrong without a word."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
from tests.support import must_fail, raises, same

import oneflow as flow


def leaf(*data: float) -> Any:
    return flow.tensor(list(data), requires_grad=True)


# A change of a view is a change of its base, and of every other view of it.


@pytest.mark.parametrize("key", [0, slice(0, 1), ...])
def test_values_with_history_are_written_into_a_view(key: Any) -> None:
    x = flow.zeros(3)
    w = leaf(2.0)
    x[key] = w[0] * 3
    assert x.requires_grad and not x.is_leaf
    (x * flow.tensor([1.0, 10.0, 100.0])).sum().backward()
    same(w.grad, [3.0 if key != ... else 333.0])


def test_values_without_history_leave_none() -> None:
    x = flow.zeros(3)
    x[0] = leaf(2.0)[0].detach()
    with flow.no_grad():
        x[1] = leaf(3.0)[0]
    assert not x.requires_grad
    same(x, [2, 3, 0])


def test_what_was_overwritten_has_no_gradient() -> None:
    w = leaf(1.0, 2.0, 3.0)
    y = w * 2
    y[0] = 5
    y.sum().backward()
    same(w.grad, [0, 2, 2])


def test_a_view_follows_what_happens_to_its_base() -> None:
    w = leaf(1.0, 2.0)
    x = flow.zeros(2)
    view = x[0]
    assert not view.requires_grad
    x.copy_(w)
    assert view.requires_grad and not view.is_leaf
    view.sum().backward()
    same(w.grad, [1, 0])


def test_views_of_views_share_one_history() -> None:
    w = leaf(1.0, 1.0, 1.0)
    x = w * 1
    view = x[0:2].view(2, 1)
    other = x[1:]
    x.mul_(3)
    view.mul_(5)
    other[0].add_(1)
    same(x, [15, 16, 3])
    (view.sum() + 10 * x.sum()).backward()
    same(w.grad, [165, 165, 30])


def test_an_augmented_assignment_to_an_item() -> None:
    w = leaf(1.0, 2.0, 3.0)
    y = leaf(4.0, 5.0)
    x = w * 2
    x[1:] += y
    (x * x).sum().backward()
    same(w.grad, [8, 32, 44])
    same(y.grad, [16, 22])


def test_a_transposed_view_of_a_transposed_base() -> None:
    w = flow.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    base = (w * 1).t().detach()  # its elements do not lie in order
    base.requires_grad = False
    base.t()[0].mul_(w[1])
    assert base.requires_grad
    same(base, [[3, 3], [8, 4]])
    base.sum().backward()
    same(w.grad, [[0, 0], [1, 2]])


def test_second_derivatives_pass_a_changed_view() -> None:
    w = leaf(1.0, 2.0)
    x = w * w
    x[0].mul_(w[1])
    (first,) = flow.autograd.grad(x.sum(), w, create_graph=True)
    same(first, [2 * 1 * 2, 1 + 4])
    (second,) = flow.autograd.grad(first.sum(), w)
    same(second, [2 * 2 + 2 * 1, 2 + 2])


def test_the_old_value_is_kept_where_a_gradient_needs_it() -> None:
    w = leaf(3.0)
    y = leaf(1.0, 2.0) * 1
    y.mul_(w)
    y.sum().backward()
    same(w.grad, [3])


def test_a_leaf_is_not_changed_nor_a_view_of_it() -> None:
    w = leaf(1.0, 2.0)
    with raises(RuntimeError, "mul_?", "leaf tensor that requires grad"):
        w.mul_(2)
    with raises(RuntimeError, "view", "leaf tensor that requires grad"):
        w[0].mul_(2)
    with raises(RuntimeError, "leaf tensor that requires grad"):
        w[0] = 1.0
    with flow.no_grad():
        w[0] = 7.0
    same(w, [7, 2])
    assert w.is_leaf


def test_what_backward_needs_is_not_changed_through_a_view() -> None:
    w = leaf(1.0, 2.0)
    x = w * 1
    y = x * x
    x[0] = 3.0
    with raises(RuntimeError, "changed in place"):
        y.sum().backward()


def test_the_history_of_many_changes_is_freed_without_recursion() -> None:
    w = leaf(1.0)
    x = flow.zeros(2)
    for _ in range(20000):
        x[0] = w[0]
    del x


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
    w = leaf(1.0, 2.0)
    y = w * 2
    y.mul_(y)
    y.sum().backward()
    same(w.grad, [8, 16])


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


def test_a_gradient_is_one_object() -> None:
    w = leaf(1.0, 2.0)
    (w * w).sum().backward()
    w.grad.note = "first"
    number = id(w.grad)
    (w * w).sum().backward()
    assert id(w.grad) == number
    assert w.grad.note == "first"
    same(w.grad, [4, 8])
    given = flow.zeros(2)
    w.grad = given
    assert w.grad is given
    watch = weakref.ref(given)
    del given
    assert watch() is w.grad
    w.grad = None
    assert watch() is None
    assert w.grad is None


def test_a_tensor_is_not_its_own_gradient() -> None:
    x = flow.ones(2)
    with raises(RuntimeError, "own gradient"):
        x.grad = x


def test_fill_with_a_tensor() -> None:
    value = flow.tensor(3.0, requires_grad=True)
    base = flow.ones(2, 3, requires_grad=True)
    filled = (base * 2).fill_(value * 2)
    same(filled, np.full((2, 3), 6.0))
    filled.sum().backward()
    same(value.grad, 12.0)
    assert base.grad is None
    same(flow.zeros(2, dtype=flow.int64).fill_(flow.tensor([7.0])), [7, 7])
    with raises(RuntimeError, r"one element, got shape \(2,\)"):
        flow.zeros(2).fill_(flow.zeros(2))


# Operands that are the target itself.


@pytest.mark.parametrize(
    "write",
    [
        lambda x, to: x.__setitem__(to, x),
        lambda x, to: x.__setitem__(to.tolist(), x),
        lambda x, to: x.scatter_(0, to, x),
        lambda x, to: x.view(3, 1).__setitem__(to, x.view(3, 1)),
    ],
    ids=["index", "list", "scatter_", "rows"],
)
@pytest.mark.parametrize("mode", ["inline", "queued"])
def test_a_permutation_of_a_tensor_into_itself(write: Any, mode: str) -> None:
    flow._oneflow_internal.set_vm_mode(mode)
    try:
        x = flow.tensor([1.0, 2.0, 3.0])
        write(x, flow.tensor([1, 2, 0]))
        same(x, [3, 1, 2])
    finally:
        flow._oneflow_internal.set_vm_mode("auto")


def test_sums_into_itself() -> None:
    x = flow.tensor([1.0, 2.0, 3.0])
    x.index_add_(0, flow.tensor([1, 1, 0]), x)
    same(x, [4, 5, 3])
    x.scatter_add_(0, flow.tensor([2, 0, 2]), x)
    same(x, [9, 5, 10])


def test_control() -> None:
    """A write into a copy, and one that reads what it has written, are noticed."""
    check = test_a_permutation_of_a_tensor_into_itself
    must_fail(check, lambda x, to: x.clone().scatter_(0, to, x), "inline")

    def step_by_step(x: Any, to: Any) -> None:
        for i in range(3):
            x[to[i].item()] = x[i]

    must_fail(check, step_by_step, "queued")


def test_a_leaf_takes_new_values() -> None:
    w = leaf(1.0, 2.0)
    for given in (np.array([3.0, 4.0], np.float32), flow.tensor([5, 6])):
        assert w.copy_(given) is w
        same(w, np.asarray(given))
        assert w.is_leaf and w.requires_grad and flow.is_grad_enabled()
    (w * 2).sum().backward()
    same(w.grad, [2, 2])
    y = w * w
    w.copy_(flow.zeros(2))
    with raises(RuntimeError, "changed in place"):
        y.sum().backward()
    with raises(RuntimeError, "leaf"):
        w.copy_(leaf(1.0, 2.0))
