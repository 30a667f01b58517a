"""A recorder that is paused captures nothing, and knows what it captured."""

from __future__ import annotations

import pytest

import oneflow as flow

inside = flow._oneflow_internal


def failing() -> None:
    """An op that fails where it is issued."""
    flow.ones(2, 3) @ flow.ones(2, 3)


def test_paused_and_on_again() -> None:
    assert "test_pause.py" in inside.get_current_stack()
    before = inside.stack_recorder_bytes()
    assert 0 < before < 16 << 20
    inside.pause_stack_recorder(True)
    try:
        assert inside.get_current_stack() == ""
        assert inside.stack_recorder_bytes() == before
        with pytest.raises(RuntimeError):
            failing()
    finally:
        inside.pause_stack_recorder(False)
    assert "test_paused_and_on_again" in inside.get_current_stack()


def test_what_was_captured_before_is_known_meanwhile() -> None:
    x = flow.ones(3, requires_grad=True)
    y = (x * x).sum()
    inside.pause_stack_recorder(True)
    try:
        inside.pause_stack_recorder(True)
        y.backward()
    finally:
        inside.pause_stack_recorder(False)
    assert x.grad is not None and x.grad.tolist() == [2.0, 2.0, 2.0]
    del y
    assert "test_pause.py" in inside.get_current_stack()
