"""oneflow.utils.global_view: new tensors that are global, and trees of tensors made global."""

from __future__ import annotations

import threading
import warnings
from typing import Any

import pytest
from tests.support import raises

import oneflow as flow
from oneflow.utils import global_view

CPU = flow.placement("cpu", ranks=[0])
B, S0, S1 = flow.sbp.broadcast, flow.sbp.split(0), flow.sbp.split(1)


def local_ones(make: Any) -> list[int]:
    """Which of the tensors that `make` makes are local."""
    return [i for i, x in enumerate(make()) if not x.is_global or x.sbp != (S0,)]


def several() -> list[Any]:
    return [flow.ones(2), flow.zeros(1, 2), flow.randn(3), flow.arange(2), flow.empty(1)]


def test_global_mode_makes_new_tensors_global() -> None:
    assert not global_view.current_global_mode().is_enabled
    with global_view.global_mode(True, placement=CPU, sbp=S0):
        now = global_view.current_global_mode()
        assert now.is_enabled and now.placement == CPU and now.sbp == (S0,)
        assert local_ones(several) == []
        assert flow.zeros(()).sbp == (B,)
        assert (flow.ones(2) + flow.tensor([1.0, 2.0])).is_global
        assert local_ones(lambda: [flow.ones(2).to_local()]) == [0]  # the control
        with global_view.global_mode(False):
            assert flow.ones(2).is_local
        assert flow.full((2,), 1.0).is_global
        assert flow.ones(2, placement=CPU, sbp=B).sbp == (B,)
    assert flow.ones(2).is_local
    now = global_view.current_global_mode()
    with raises(RuntimeError, "expects global_mode to be enabled"):
        _ = now.placement


def test_global_mode_ends_with_an_error_and_is_a_threads_own() -> None:
    with pytest.raises(KeyError), global_view.global_mode(True, CPU, B):
        raise KeyError
    assert flow.ones(1).is_local
    seen = []
    with global_view.global_mode(True, CPU, B):
        thread = threading.Thread(target=lambda: seen.append(flow.ones(1).is_local))
        thread.start()
        thread.join()
    assert seen == [True]


def test_trees() -> None:
    state = {"a": [flow.ones(2), None, (flow.zeros(1),)], "b": flow.ones(1, 2)}
    made = global_view.to_global(state, CPU, B)
    assert made["a"][0].is_global and made["a"][1] is None and made["a"][2][0].is_global
    assert state["b"].is_local
    back = global_view.to_local(made)
    assert back["b"].is_local and type(back["a"][2]) is tuple
    chosen = global_view.to_global(state, CPU, lambda tree, x: S1 if x is tree["b"] else S0)
    assert chosen["b"].sbp == (S1,) and chosen["a"][0].sbp == (S0,)
    with pytest.warns(UserWarning, match=r"\[to_global\] keeps what is no tensor .* int"):
        assert global_view.to_global([1], CPU, B) == [1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert global_view.to_global((1, None), CPU, B, warn_on_non_tensor_leaf=False) == (1, None)


def test_bad_input() -> None:
    bad: list[tuple[Any, Any, str]] = [
        (lambda: global_view.global_mode(True), ValueError, "expects placement and sbp where it"),
        (lambda: global_view.global_mode(True, CPU), ValueError, "placement and sbp"),
        (lambda: global_view.global_mode(True, CPU, [B, B]), RuntimeError, "an sbp for each of 1"),
        (
            lambda: global_view.global_mode(True, flow.placement("cpu", [0, 1]), B),
            NotImplementedError,
            "this process's rank alone",
        ),
        (lambda: global_view.to_global(flow.ones(1)), ValueError, "placement and sbp for a local"),
        (lambda: global_view.to_global([flow.ones(1)], CPU, S1), RuntimeError, "dim to split"),
    ]
    for call, error, match in bad:
        with raises(error, match):
            call()
    assert flow.ones(1).is_local
