"""The dtype in which operands of several dtypes are computed, and what counts as a number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tests.support import raises, same

import oneflow as flow

DTYPES = ["bool", "uint8", "int8", "int32", "int64", "float16", "float32", "float64"]


def category(dtype: np.dtype[Any]) -> int:
    return {"b": 0, "i": 1, "u": 1}.get(dtype.kind, 2)


def expected(one: str, other: str, one_dims: int, other_dims: int) -> str:
    """numpy's promotion, but for integers with floats; a 0-dim operand only lifts the category."""
    a, b = np.dtype(one), np.dtype(other)
    if (one_dims == 0) != (other_dims == 0):
        whole, number = (b, a) if one_dims == 0 else (a, b)
        return (number if category(number) > category(whole) else whole).name
    if category(a) != category(b):
        return max(a, b, key=category).name
    return np.promote_types(a, b).name


def wrong_dtypes(add: Callable[[Any, Any], Any]) -> list[str]:
    """The pairs of dtypes and dims whose sum has another dtype than expected."""
    found = []
    for one in DTYPES:
        for other in DTYPES:
            for shapes in (((2,), (2,)), ((2,), ()), ((), (2,)), ((), ()), ((1, 1), ())):
                x = flow.ones(shapes[0], dtype=getattr(flow, one))
                y = flow.ones(shapes[1], dtype=getattr(flow, other))
                want = getattr(flow, expected(one, other, len(shapes[0]), len(shapes[1])))
                if add(x, y).dtype != want:
                    found.append(f"{one}{shapes[0]} {other}{shapes[1]}")
    return found


def test_tensors_without_dims_lift_the_category_only() -> None:
    assert wrong_dtypes(lambda x, y: x * y) == []
    assert wrong_dtypes(flow.maximum) == []
    assert wrong_dtypes(lambda x, y: flow.where(flow.tensor([True]), x, y)) == []


def test_control() -> None:
    """Promotion that looks at dtypes alone is found out."""

    def by_dtype_alone(x: Any, y: Any) -> Any:
        return x.reshape(-1) * y.reshape(-1)

    assert "float32(2,) float64()" in wrong_dtypes(by_dtype_alone)


def test_values_and_gradients_of_mixed_operands() -> None:
    x = flow.tensor([1.5, -2.0], requires_grad=True)
    scale = flow.tensor(3.0, dtype=flow.float64, requires_grad=True)
    y = x * scale
    same(y.detach(), np.array([4.5, -6.0], np.float32))
    y.sum().backward()
    assert x.grad.dtype == flow.float32 and scale.grad.dtype == flow.float64
    same(x.grad, np.array([3.0, 3.0], np.float32))
    same(scale.grad, np.array(-0.5))
    same(flow.tensor([1, 2]) / flow.tensor(2.0, dtype=flow.float64), np.array([0.5, 1.0]))
    same(flow.tensor([1, 2]) + flow.tensor(0.5), np.array([1.5, 2.5], np.float32))
    same(flow.tensor([7], dtype=flow.uint8) > flow.tensor(6), np.array([True]))


def test_numpy_floats_are_python_floats() -> None:
    assert flow.tensor(np.float64(1.5)).dtype == flow.float32
    assert flow.tensor(np.array(1.5)).dtype == flow.float64
    assert flow.tensor(np.float32(1.5)).dtype == flow.float32
    assert flow.tensor(np.int32(3)).dtype == flow.int32
    assert flow.tensor(np.float64(1.5), dtype=flow.float64).dtype == flow.float64


def test_masked_fill_cuts_floats_for_integers() -> None:
    x, mask = flow.tensor([1, 2]), flow.tensor([True, False])
    same(x.masked_fill(mask, 9.7), np.array([9, 2]))
    same(x.masked_fill(mask, -9.7), np.array([-9, 2]))
    same(flow.tensor([False, False]).masked_fill(mask, 0.5), np.array([True, False]))
    same(x.masked_fill_(mask, 3.5), np.array([3, 2]))
    with raises(RuntimeError, r"\[masked_fill\] expects a number that fits int64, got inf"):
        x.masked_fill(mask, float("inf"))
