"""Python objects of tensors: what runs while one dies, and arguments with a mind of their own."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import pytest
from tests.support import must_fail, same

import oneflow as flow


class Keeping(flow.autograd.Function):
    """Its ctx has the tensor, but no Python object of it."""

    @staticmethod
    def forward(ctx: Any, x: Any, made: list[Any]) -> Any:
        ctx.save_for_backward(x)
        made.append(ctx)
        return x * 2

    @staticmethod
    def backward(ctx: Any, dy: Any) -> Any:
        return dy * 2, None


def kept(tensor: Any) -> Callable[[], Any]:
    """Gives the tensor as a Python object, a new one where the last has died."""
    made: list[Any] = []
    out = Keeping.apply(tensor, made)
    return lambda: (out, made[0].saved_tensors[0])[1]


def twos() -> Any:
    return flow.full((3,), 2.0).requires_grad_()


def churn() -> None:
    for _ in range(200):
        flow.ones(2)


def test_a_destructor_asks_for_the_tensor_that_dies() -> None:
    got = []

    class Attribute:
        def __del__(self) -> None:
            got.append(again())

    tensor = twos()
    again = kept(tensor)
    tensor.attribute = Attribute()
    del tensor
    churn()
    same(got[0], [2, 2, 2])
    assert again() is got[0]


def test_a_callback_asks_for_the_tensor_that_dies() -> None:
    got = []
    tensor = twos()
    again = kept(tensor)
    watch = weakref.ref(tensor, lambda _: got.append(again()))
    del tensor
    churn()
    assert watch() is None
    same(got[0], [2, 2, 2])


def test_a_slot_asks_for_the_tensor_that_dies() -> None:
    class Slotted(flow.Tensor):
        __slots__ = ("item_of_slot",)

    got = []

    class Attribute:
        def __del__(self) -> None:
            got.append(again())

    tensor = Slotted(twos()).requires_grad_()
    again = kept(tensor)
    tensor.item_of_slot = Attribute()
    del tensor
    churn()
    same(got[-1], [2, 2, 2])


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


def test_control() -> None:
    """Something that gives another Python object each time it is asked."""

    def forgetful(tensor: Any) -> Callable[[], Any]:
        return lambda: flow.full((3,), 2.0)

    here = globals()
    real, here["kept"] = here["kept"], forgetful
    try:
        must_fail(test_a_destructor_asks_for_the_tensor_that_dies)
    finally:
        here["kept"] = real
