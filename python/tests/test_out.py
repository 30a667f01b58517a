"""`out=`, where OneFlow 0.9.0 has it: quantile, normal, tensordot (and recv, of several ranks)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.support import must_fail, raises, same

import oneflow as flow

X = np.array([[1.0, 2.0, 4.0], [8.0, 16.0, 32.0]], np.float32)

# Name: the call, its result's shape, its values; None: they are drawn.
CALLS: dict[str, tuple[Any, tuple[int, ...], Any]] = {
    "quantile": (
        lambda **out: flow.quantile(flow.tensor(X), 0.5, 1, **out),
        (2,),
        np.quantile(X, 0.5, axis=1),
    ),
    "quantiles": (
        lambda **out: flow.quantile(flow.tensor(X), flow.tensor([0.0, 1.0]), **out),
        (2,),
        np.quantile(X, [0.0, 1.0]),
    ),
    "Tensor.quantile": (
        lambda **out: flow.tensor(X).quantile(0.25, 0, True, **out),
        (1, 3),
        np.quantile(X, 0.25, axis=0, keepdims=True),
    ),
    "tensordot": (
        lambda **out: flow.tensordot(flow.tensor(X), flow.tensor(X), ([1], [1]), **out),
        (2, 2),
        X @ X.T,
    ),
    "normal": (lambda **out: flow.normal(3.0, 0.0, (2, 3), **out), (2, 3), np.full((2, 3), 3.0)),
}


def check(call: Any, shape: tuple[int, ...], values: Any) -> None:
    """The values are in `out`, which is what comes back, and nowhere around it."""
    around = flow.full((4, *shape), 7.0)
    out = around[1]
    assert call(out=out) is out
    np.testing.assert_allclose(out.numpy(), values, rtol=1e-6)
    same(around[2:], np.full((2, *shape), 7.0))
    strided = flow.zeros(*shape[::-1]).permute(*reversed(range(len(shape))))
    call(out=strided)
    np.testing.assert_allclose(strided.numpy(), values, rtol=1e-6)
    np.testing.assert_allclose(call(out=None).numpy(), values, rtol=1e-6)


@pytest.mark.parametrize("name", CALLS)
def test_the_result_is_written(name: str) -> None:
    check(*CALLS[name])


@pytest.mark.parametrize("name", CALLS)
def test_another_shape_or_type_is_an_error(name: str) -> None:
    call, shape, _ = CALLS[name]
    for wrong in (flow.zeros(5, 7), flow.zeros(*shape, 1), flow.zeros(0)):
        before = wrong.numpy().copy()
        with raises(RuntimeError, r"expects out of shape .*, got"):
            call(out=wrong)
        same(wrong, before)
    with raises(TypeError, "expects out to be a Tensor, got ndarray"):
        call(out=np.zeros(shape, np.float32))


@pytest.mark.parametrize("name", [name for name in CALLS if name != "normal"])
def test_another_dtype_is_an_error(name: str) -> None:
    call, shape, _ = CALLS[name]
    with raises(RuntimeError, "expects out of dtype oneflow.float32, got oneflow.float64"):
        call(out=flow.zeros(*shape, dtype=flow.float64))


def test_normal_draws_in_the_dtype_of_out() -> None:
    out = flow.zeros(2, 3, dtype=flow.float64)
    assert flow.normal(0.0, 1.0, (2, 3), out=out) is out
    assert out.dtype == flow.float64 and np.unique(out.numpy()).size == 6
    with raises(RuntimeError, "expects out of dtype oneflow.float32, got oneflow.float64"):
        flow.normal(0.0, 1.0, (2, 3), out=out, dtype=flow.float32)


def test_out_has_the_history_of_the_result() -> None:
    x = flow.tensor(X, requires_grad=True)
    out = flow.zeros(2, 2)
    flow.tensordot(x, flow.tensor(X), ([1], [1]), out=out).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.broadcast_to(X.sum(0), X.shape))
    with raises(RuntimeError, "leaf"):
        flow.quantile(flow.tensor(X), 0.5, 1, out=flow.zeros(2, requires_grad=True))


def test_control() -> None:
    """A call that gives a new tensor, or writes another number, is noticed."""
    call, shape, values = CALLS["quantile"]
    must_fail(check, lambda out: call(), shape, values)
    must_fail(check, lambda **out: call(**out).add_(1), shape, values)
