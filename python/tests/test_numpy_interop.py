"""Tensors beside NumPy: operands, read-only and unaligned memory, views that outlive tensors."""

from __future__ import annotations

import gc
import time
from typing import Any

import numpy as np
import pytest
from tests.support import must_fail, raises, same

import oneflow as flow


@pytest.mark.parametrize("kind", ["float32", "float64", "int64", "int8"])
def test_a_numpy_number_on_either_side(kind: str) -> None:
    two = np.dtype(kind).type(2)
    x = flow.tensor([1.0, 3.0])
    for result, expected in (
        (two * x, [2, 6]),
        (x * two, [2, 6]),
        (two + x, [3, 5]),
        (two - x, [1, -1]),
        (two / x, [2, 2 / 3]),
    ):
        assert isinstance(result, flow.Tensor)
        same(result, expected)
        assert result.dtype == flow.float32


def test_a_numpy_array_on_either_side() -> None:
    a = np.array([1.0, 2.0], dtype=np.float32)
    x = flow.tensor([3.0, 5.0], requires_grad=True)
    for result, expected in (
        (a + x, [4, 7]),
        (x + a, [4, 7]),
        (a - x, [-2, -3]),
        (x / a, [3, 2.5]),
        (np.eye(2, dtype=np.float32) @ x, [3, 5]),
        (x @ np.eye(2, dtype=np.float32), [3, 5]),
    ):
        assert isinstance(result, flow.Tensor) and result.requires_grad
        same(result, expected)
    y: Any = flow.tensor([1.0, 2.0])
    before = y
    y += a
    assert y is before
    same(y, [2, 4])
    assert (y == a).tolist() == [False, False]


def test_equal_and_unequal() -> None:
    x: Any = flow.tensor([1.0, float("nan"), 3.0])
    assert (x != x).tolist() == [False, True, False]
    assert (x == x).tolist() == [True, False, True]
    assert (x != 3).tolist() == [True, True, False]
    assert (x != np.array([1, 2, 3])).tolist() == [False, True, False]
    assert (x != None) is True  # noqa: E711
    assert (x == "text") is False


def test_read_only_memory_is_not_written() -> None:
    array = np.arange(4.0)
    array.flags.writeable = False
    x = flow.from_numpy(array)
    same(x + 1, [1, 2, 3, 4])
    with raises(RuntimeError, "read-only", "clone"):
        x.add_(1)
    with raises(RuntimeError, "read-only"):
        x[0] = 7
    with flow.no_grad(), raises(RuntimeError, "read-only"):
        x.view(2, 2).copy_(flow.ones(2, 2))
    with pytest.raises(ValueError, match="read-only"):
        x.numpy()[0] = 7
    same(x.clone().add_(1), [1, 2, 3, 4])
    np.testing.assert_array_equal(array, np.arange(4.0))


def test_unaligned_memory_is_refused() -> None:
    array = np.frombuffer(bytearray(17), dtype=np.uint8)[1:].view(np.float32)
    with raises(ValueError, "aligned", "copy"):
        flow.from_numpy(array)
    same(flow.tensor(array), np.zeros(4))


def test_a_view_outlives_its_tensor() -> None:
    x = flow.arange(1000)
    array = x[10:20].numpy()
    del x
    gc.collect()
    others = [flow.zeros(1000, dtype=flow.int64) for _ in range(50)]
    np.testing.assert_array_equal(array, np.arange(10, 20))
    assert len(others) == 50


def slowest_issue(x: Any) -> float:
    """Seconds that a call takes at most until it returns; the op itself takes milliseconds."""
    flow._oneflow_internal.sync()
    worst = 0.0
    for _ in range(3):
        start = time.perf_counter()
        x.mul_(1.0)
        worst = max(worst, time.perf_counter() - start)
        flow._oneflow_internal.sync()
    return worst


def test_a_look_at_the_values_does_not_expose_the_memory() -> None:
    x = flow.ones(1 << 22)
    pointer = flow.ones(1 << 22)
    x.view(-1)[:3].tolist()
    np.array(x[:3])
    pointer.data_ptr()
    # Exposed memory makes each call wait for its op; the other returns at once.
    free = min(slowest_issue(x) for _ in range(5))
    exposed = min(slowest_issue(pointer) for _ in range(5))
    assert 3 * free < exposed


def test_the_legacy_constructor() -> None:
    class Special(flow.Tensor):
        pass

    assert flow.Tensor().shape == (0,)
    assert flow.Tensor(2, 3).shape == (2, 3)
    made = Special([1, 2])
    assert type(made) is Special
    same(made, [1, 2])
    with raises(TypeError, "Special", "expects a Tensor"):
        Special()


def test_sizes_that_do_not_fit() -> None:
    x = flow.empty(1 << 40, 1 << 40, 0)
    with raises(RuntimeError, "flatten", "64 bits"):
        x.flatten(0, 1)
    assert x.flatten(1, 2).shape == (1 << 40, 0)


def test_an_array_of_bfloat16_is_float32() -> None:
    x = flow.tensor([[1.5, -2.0], [3.0, 0.1]], dtype=flow.bfloat16)
    assert x.t().numpy().dtype == np.float32
    same(flow.tensor(x.t().numpy()), [[1.5, 3.0], [-2.0, 0.10009765625]])
    assert np.asarray(x, np.float64).dtype == np.float64
    x.requires_grad_()
    assert (x * 2).numpy()[0].tolist() == [3.0, -4.0]


def test_control(monkeypatch: pytest.MonkeyPatch) -> None:
    """Operands that change places, and memory that is written though it is read-only."""
    monkeypatch.setattr(flow.Tensor, "__rsub__", lambda x, other: x - other)
    must_fail(test_a_numpy_number_on_either_side, "float32")
    monkeypatch.setattr(flow, "arange", lambda n: flow.zeros(n, dtype=flow.int64))
    must_fail(test_a_view_outlives_its_tensor)
