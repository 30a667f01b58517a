"""An op that fails on purpose reaches Python as the same exception however it ran."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.support import raises, same

import oneflow as flow

throw_error = flow._C.throw_error
MODES = ("inline", "queued", "random")
# What the kernel fails with, the exception that Python gets, and what it says.
KINDS: dict[str, tuple[type[Exception], str]] = {
    "type": (TypeError, "throw error kernel"),
    "value": (ValueError, "throw error kernel"),
    "index": (IndexError, "throw error kernel"),
    "runtime": (RuntimeError, "throw error kernel"),
    "not_implemented": (NotImplementedError, "throw error kernel"),
    "out_of_memory": (flow.OutOfMemoryError, "throw error kernel"),
    "internal": (flow.InternalError, "throw error kernel\nThis is a bug in OneFlow"),
    "environment": (OSError, "throw error kernel"),
    "bad_alloc": (flow.OutOfMemoryError, "found no memory for its own use"),
    "exception": (flow.InternalError, r"threw: \[throw_error\] throw error kernel\nThis is a bug"),
    "foreign": (flow.InternalError, "threw what is no std::exception\nThis is a bug"),
}


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> Iterator[str]:
    flow._oneflow_internal.set_vm_mode(request.param)
    yield request.param
    flow._oneflow_internal.set_vm_mode("auto")


def caught(action: Any, *arguments: Any) -> Any:
    """The exception that an action must end in."""
    with pytest.raises(Exception) as info:
        action(*arguments)
    return info.value


def test_all_kinds_are_tried() -> None:
    """The error of an unknown kind lists those that there are."""
    error = caught(lambda: throw_error(flow.ones(1), kind="x"))
    assert str(error) == f"[throw_error] expects a kind of {', '.join(KINDS)}, got x"


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_its_exception(mode: str, kind: str) -> None:
    expected, text = KINDS[kind]
    x = flow.ones(2)
    error = caught(lambda: throw_error(x, kind=kind).numpy())
    assert error.op == "throw_error"
    assert error.stack[-1].filename == __file__
    assert type(error) is expected
    with raises(expected, r"\[throw_error\] ", text):
        raise error
    same(x + 1, [2, 2])


def test_a_delay_fails_in_the_background() -> None:
    result = throw_error(flow.ones(1), 20)  # under 10 us it would fail here
    error = caught(result.numpy)
    assert type(error) is RuntimeError
    assert "Related Python stack trace:" in str(error)


def test_it_fails_at_the_nth_call_only(mode: str) -> None:
    x = flow.tensor([1.0, 2.0])
    results = [throw_error(x, at_call=3) for _ in range(2)]
    error = caught(lambda: throw_error(x, at_call=3).numpy())
    assert type(error) is RuntimeError
    results.append(throw_error(x, at_call=3))  # it counts from there anew
    for result in results:
        same(result, [1, 2])
    caught(lambda: [throw_error(x, at_call=2).numpy() for _ in range(2)])
    same(throw_error(flow.ones(2, 3).t(), at_call=0), [[1, 1]] * 3)


@pytest.mark.parametrize("kind", KINDS)
def test_a_backward_that_fails(mode: str, kind: str) -> None:
    x = flow.ones(2, requires_grad=True)
    result = flow._C.throw_error_in_backward(x * 3, kind=kind)  # the line to be named
    same(result, [3, 3])

    def read() -> None:
        result.sum().backward()
        x.grad.numpy()

    error = caught(read)
    assert error.op == "throw_error"
    assert "# the line to be named" in error.stack[-1].line
    assert error.backward_stack[-1].name == "read"
    assert "# the line to be named" in str(error)
    assert type(error) is KINDS[kind][0]
    flow._oneflow_internal.forget_unread_errors()


def test_in_place_the_target_keeps_its_value(mode: str) -> None:
    x = flow.ones(2)

    def change() -> None:
        flow._C.throw_error_(x, kind="value")
        flow._oneflow_internal.sync()

    assert type(caught(change)) is ValueError
    same(x, [1, 1])


def test_many_failures_that_were_read_do_not_hide_one_that_was_not(mode: str) -> None:
    x = flow.ones(2)
    for _ in range(100):
        caught(lambda: throw_error(x).numpy())

    def change() -> None:
        flow._C.throw_error_(x, kind="value")
        flow._oneflow_internal.sync()

    assert type(caught(change)) is ValueError


def test_control() -> None:
    """Another type, or another text, is noticed."""
    kept = KINDS["value"]
    for wrong in ((TypeError, kept[1]), (kept[0], "another text")):
        KINDS["value"] = wrong
        try:
            with pytest.raises(AssertionError):
                test_each_kind_is_its_exception("inline", "value")
        finally:
            KINDS["value"] = kept
