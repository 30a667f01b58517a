"""Python objects of tensors: what runs while one dies, and arguments with a mind of their own."""

from __future__ import annotations

import weakref
from typing import Any

import pytest
from tests.support import same

import oneflow as flow


def leaf_with_grad() -> Any:
    x = flow.ones(3, requires_grad=True)
    (x * 2).sum().backward()
    return x


def churn() -> None:
    for _ in range(200):
        flow.ones(2)


def test_a_destructor_asks_for_the_tensor_that_dies() -> None:
    x = leaf_with_grad()
    got = []

    class Attribute:
        def __del__(self) -> None:
            got.append(x.grad)

    grad = x.grad
    grad.attribute = Attribute()
    del grad
    churn()
    same(got[0], [2, 2, 2])
    assert x.grad is got[0]


def test_a_callback_asks_for_the_tensor_that_dies() -> None:
    x = leaf_with_grad()
    got = []
    grad = x.grad
    watch = weakref.ref(grad, lambda _: got.append(x.grad))
    del grad
    churn()
    assert watch() is None
    same(got[0], [2, 2, 2])


def test_a_slot_asks_for_the_tensor_that_dies() -> None:
    class Slotted(flow.Tensor):
        __slots__ = ("item_of_slot",)

    x = flow.ones(3)
    x.grad = Slotted(flow.full((3,), 2.0))
    got = []

    class Attribute:
        def __del__(self) -> None:
            got.append(x.grad)

    x.grad.item_of_slot = Attribute()
    churn()
    grad = Slotted(flow.full((3,), 5.0))
    grad.item_of_slot = Attribute()
    x.grad = grad
    del grad
    churn()
    same(got[-1], [5, 5, 5])


class Number:
    """An integer that calls `act` when it is read."""

    def __init__(self, act: Any) -> None:
        self.act = act

    def __index__(self) -> int:
        self.act()
        return 1


def test_a_list_that_shrinks_while_it_is_read() -> None:
    sizes: list[Any] = []
    sizes += [Number(sizes.clear)] + [1] * 12
    assert flow._C.ones(sizes).shape == ()
    assert sizes == []


def test_a_list_that_grows_while_it_is_read() -> None:
    sizes: list[Any] = []
    sizes += [Number(lambda: sizes.extend([1] * 9))]
    with pytest.raises(TypeError, match="changed"):
        flow._C.ones(sizes)


def test_a_number_that_is_none_the_second_time() -> None:
    class Once:
        reads = 0

        def __index__(self) -> int:
            self.reads += 1
            if self.reads > 1:
                raise KeyError("no more")
            return 2

    with pytest.raises(TypeError, match="changed"):
        flow.ones(2).add(Once())


def test_a_negative_item_past_the_end() -> None:
    from ctypes import c_ssize_t, py_object, pythonapi

    get = pythonapi.PySequence_GetItem
    get.argtypes, get.restype = [py_object, c_ssize_t], py_object
    assert get(flow.arange(3), -1).item() == 2
    with pytest.raises(IndexError):
        get(flow.arange(3), -5)
