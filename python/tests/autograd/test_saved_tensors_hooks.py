"""Hooks on what is saved for backward."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import pytest
from tests.support import must_fail, raises, same

import oneflow as flow

hooks = flow.autograd.graph.saved_tensors_hooks


def leaf(*data: float) -> Any:
    return flow.tensor(list(data), requires_grad=True)


def test_what_is_saved_goes_through_the_hooks() -> None:
    x, y = leaf(2.0, 3.0), leaf(5.0, 7.0)
    packed: list[Any] = []
    unpacked: list[Any] = []

    def pack(t: Any) -> Any:
        packed.append(t.tolist())
        assert not t.requires_grad
        return t.numpy().copy()

    def unpack(array: Any) -> Any:
        unpacked.append(array.tolist())
        return flow.from_numpy(array)

    with hooks(pack, unpack):
        z = x * y
        _ = x + y  # saves nothing
    outside = x * x
    assert packed == [[2, 3], [5, 7]] and unpacked == []
    (z + outside).sum().backward()
    assert sorted(unpacked) == [[2, 3], [5, 7]]
    same(x.grad, [5 + 4, 7 + 6])
    same(y.grad, [2, 3])


def test_results_and_second_derivatives() -> None:
    x = leaf(2.0)
    with hooks(lambda t: t.clone(), lambda t: t):
        y = x * x * x
    (first,) = flow.autograd.grad(y.sum(), x, create_graph=True)
    same(first, [12])
    (second,) = flow.autograd.grad(first.sum(), x)
    same(second, [12])


def test_the_innermost_hooks_count_and_only_on_their_thread() -> None:
    x = leaf(2.0)
    seen: list[str] = []

    def note(name: str) -> Any:
        def noted(t: Any) -> Any:
            seen.append(name)
            return t

        return noted

    with hooks(note("outer"), lambda t: t):
        with hooks(note("inner"), lambda t: t):
            _ = x * x
        thread = threading.Thread(target=lambda: x * x)
        thread.start()
        thread.join()
        _ = x * x
    assert set(seen[:2]) == {"inner"} and set(seen[2:]) == {"outer"} and len(seen) == 4


def test_errors_of_hooks() -> None:
    x = leaf(2.0)
    with raises(ZeroDivisionError, ""), hooks(lambda _t: 1 / 0, lambda t: t):
        _ = x * x
    with hooks(lambda t: t, lambda _t: 0):
        y = x * x
    with raises(TypeError, "expects unpack_hook to give a Tensor", "int"):
        y.backward()
    with raises(TypeError, "two functions"), hooks(1, 2):
        pass
    with raises(RuntimeError, "entered"):
        flow._oneflow_internal.pop_saved_tensors_hooks()


def test_control(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hooks that are entered and never asked."""
    monkeypatch.setitem(globals(), "hooks", lambda pack, unpack: contextlib.nullcontext())
    must_fail(test_what_is_saved_goes_through_the_hooks)
