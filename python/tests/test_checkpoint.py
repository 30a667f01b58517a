"""Checkpointing: the same gradients, less saved, the same random numbers."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support import must_fail, raises, same

import oneflow as flow

checkpoint = flow.utils.checkpoint.checkpoint


def leaf(*data: float) -> Any:
    return flow.tensor(list(data), requires_grad=True)


def test_gradients_of_arguments_and_of_what_the_function_closes_over() -> None:
    x, w = leaf(2.0, 3.0), leaf(5.0, 7.0)
    calls = []

    def function(t: Any) -> Any:
        calls.append(flow.is_grad_enabled())
        return t * t * w

    out = checkpoint(function, x)
    assert calls == [False]
    out.sum().backward()
    assert calls == [False, True]
    same(x.grad, [20, 42])
    same(w.grad, [4, 9])


def test_parameters_alone() -> None:
    w = leaf(5.0)
    checkpoint(lambda t: t * w, flow.ones(1)).backward()
    same(w.grad, [1])


def test_random_numbers_are_drawn_again() -> None:
    x = leaf(1.0, 1.0)
    drawn = []

    def function(t: Any) -> Any:
        noise = flow.rand(2)
        drawn.append(noise.tolist())
        return t * noise

    flow.manual_seed(3)
    out = checkpoint(function, x)
    following = flow.rand(1).item()
    out.sum().backward()
    assert drawn[0] == drawn[1]
    assert x.grad.tolist() == drawn[0]
    flow.manual_seed(3)
    flow.rand(2)
    assert flow.rand(1).item() == following
    other = leaf(1.0, 1.0)
    drawn.clear()
    checkpoint(function, other, preserve_rng_state=False).sum().backward()
    assert drawn[0] != drawn[1]


def test_nested_calls_and_other_arguments() -> None:
    x = leaf(2.0)

    def inner(t: Any, factor: float) -> Any:
        return t * t * factor

    def outer(t: Any, name: str, *, scale: Any) -> Any:
        return checkpoint(inner, t, 3.0) * scale, name, None

    scale = leaf(10.0)
    out, name, nothing = checkpoint(outer, x, "name", scale=scale)
    assert (name, nothing) == ("name", None)
    out.backward()
    same(x.grad, [120])
    same(scale.grad, [12])


def test_several_results_of_which_one_is_used() -> None:
    x = leaf(2.0)
    first, _second = checkpoint(lambda t: (t * 3, t * 5), x)
    first.backward()
    same(x.grad, [3])


def test_without_a_record_it_is_a_call() -> None:
    with flow.no_grad():
        assert not checkpoint(lambda t: t * 2, leaf(1.0)).requires_grad


def test_an_error_in_the_second_call_is_raised() -> None:
    x = leaf(1.0)
    calls = []

    def function(t: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise ZeroDivisionError("again")
        return t * 1

    out = checkpoint(function, x)
    with raises(ZeroDivisionError, "again"):
        out.backward()
    with raises(TypeError, "checkpoint", "int"):
        checkpoint(1)


def test_control(monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint that keeps everything, or that forgets the random numbers."""
    right = checkpoint
    here = globals()
    monkeypatch.setitem(here, "checkpoint", lambda function, *args: function(*args))
    must_fail(test_gradients_of_arguments_and_of_what_the_function_closes_over)

    def forgets(function: Any, *args: Any, **keywords: Any) -> Any:
        return right(function, *args, **{**keywords, "preserve_rng_state": False})

    monkeypatch.setitem(here, "checkpoint", forgets)
    must_fail(test_random_numbers_are_drawn_again)
