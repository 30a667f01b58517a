"""Python's operators on tensors: with tensors, numbers and numpy arrays on either side."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow as flow

ARITHMETIC = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
]
COMPARISONS = [operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge]
BITS = [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]

X = np.array([[1.5, -2.0, 3.0], [0.5, 4.0, -1.0]], np.float32)
Y = np.array([2.0, 3.0, 0.5], np.float32)
I = np.array([[7, -3, 2], [1, 0, 5]], np.int64)  # noqa: E741
J = np.array([2, 3, 1], np.int64)

Binary = Callable[[Any, Any], Any]


def name_of(value: object) -> str:
    """How a case is called in pytest's report."""
    return getattr(value, "__name__", str(value))


def check(got: Any, want: Any) -> None:
    """Values, and the kind of dtype."""
    assert isinstance(got, flow.Tensor)
    array = got.numpy()
    assert array.dtype.kind == np.asarray(want).dtype.kind, (array.dtype, np.asarray(want).dtype)
    np.testing.assert_allclose(array, want, rtol=1e-6, equal_nan=True)


@pytest.mark.parametrize("op", [*ARITHMETIC, *COMPARISONS], ids=name_of)
def test_floats(op: Binary) -> None:
    x, y = flow.tensor(X), flow.tensor(Y)
    with np.errstate(all="ignore"):
        check(op(x, y), op(X, Y))
        check(op(x, Y), op(X, Y))
        check(op(X, y), op(X, Y))
        for number in (2, 0.5, -3, True, np.float64(1.5), np.int32(2)):
            check(op(x, number), op(X, np.float32(number)))
            check(op(number, x), op(np.float32(number), X))


@pytest.mark.parametrize("op", [*ARITHMETIC[:-1], *COMPARISONS], ids=name_of)
def test_integers(op: Binary) -> None:
    divides = op in (operator.truediv, operator.floordiv, operator.mod)
    i, j = flow.tensor(I), flow.tensor(J)
    check(op(i, j), op(I, J))
    check(op(i, J), op(I, J))
    for number in (2, -3):
        check(op(i, number), op(I, number))
        if not divides:
            check(op(number, i), op(number, I))
    check(op(5, j), op(5, J))
    check(op(i, 0.75), op(I.astype(np.float32), np.float32(0.75)))


@pytest.mark.parametrize("op", BITS, ids=name_of)
def test_bits(op: Binary) -> None:
    i, j = flow.tensor(I), flow.tensor(J)
    check(op(i, j), op(I, J))
    check(op(i, 2), op(I, 2))
    check(op(2, j), op(2, J))
    check(op(I, j), op(I, J))


@pytest.mark.parametrize("op", BITS[:3], ids=name_of)
def test_truths(op: Binary) -> None:
    a, b = I > 1, I < 5
    check(op(flow.tensor(a), flow.tensor(b)), op(a, b))
    check(op(flow.tensor(a), True), op(a, True))


def test_unary() -> None:
    x, i, b = flow.tensor(X), flow.tensor(I), flow.tensor(I > 1)
    check(abs(x), abs(X))
    check(-i, -I)
    check(~i, ~I)
    check(~b, ~(I > 1))
    assert +x is x


def test_powers() -> None:
    x, i = flow.tensor(X), flow.tensor(I)
    check(x**2, X**2)
    check(2**x, np.float32(2) ** X)
    check(i**3, I**3)
    check(pow(x, 2), X**2)
    with np.errstate(all="ignore"):
        check(x**0.5, X ** np.float32(0.5))
        check(x**-1, 1 / X)
    with pytest.raises(RuntimeError, match="negative power"):
        i**-1
    with pytest.raises(TypeError):
        operands: Any = (x, 2, 3)
        pow(*operands)


@pytest.mark.parametrize(
    "op",
    [operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv,
     operator.imod, operator.ipow],
    ids=name_of,
)  # fmt: skip
def test_in_place(op: Binary) -> None:
    for other in (2, 0.5, Y):
        x = flow.tensor(X)
        want = op(X.copy(), other if isinstance(other, np.ndarray) else np.float32(other))
        given = flow.tensor(other) if isinstance(other, np.ndarray) else other
        changed = op(x, given)
        assert changed is x
        np.testing.assert_allclose(x.numpy(), want, rtol=1e-6)


def test_in_place_refuses_a_result_that_does_not_fit() -> None:
    i = flow.tensor(I)
    with pytest.raises(RuntimeError, match="fits"):
        i /= 2
    with pytest.raises(RuntimeError, match="fits"):
        i += 0.5
    assert i.numpy().tolist() == I.tolist()


def test_numbers_past_64_bits() -> None:
    x = flow.tensor(X)
    big = 1 << 70
    assert not (x == big).numpy().any()
    assert (x != big).numpy().all()
    for op in (operator.lt, operator.add, operator.floordiv, operator.pow):
        with pytest.raises(TypeError, match="64 bits"):
            op(x, big)


def test_numbers_past_the_range_of_the_elements() -> None:
    small = flow.tensor(np.array([1, 255], np.uint8))
    assert (small < 300).numpy().all()
    assert not (small == 257).numpy().any()
    assert (small > -1).numpy().all()


def test_what_is_no_number() -> None:
    x = flow.tensor(X)
    assert (x == None) is False  # noqa: E711
    assert (x != "x") is True
    nothing: Any = (None, x)
    for op in (operator.lt, operator.add, operator.and_, operator.mod):
        with pytest.raises(TypeError):
            op(x, "x")
        with pytest.raises(TypeError):
            op(*nothing)


def test_division_by_zero() -> None:
    i = flow.tensor(I)
    for op in (operator.floordiv, operator.mod):
        with pytest.raises(RuntimeError, match="other than 0"):
            op(i, 0).numpy()
    assert flow.tensor(X).floor_divide(0).numpy()[0].tolist() == [np.inf, -np.inf, np.inf]


def test_gradients_of_operators() -> None:
    x = flow.tensor(X, requires_grad=True)
    y = flow.tensor(Y, requires_grad=True)
    ((x**2) / y + 2**y - 3 * abs(x) + (x % y) + 1 / y).sum().backward()
    want_x = 2 * X / Y - 3 * np.sign(X) + 1
    want_y = (-(X**2) / Y**2 - np.floor(X / Y)).sum(0) + 2 * (np.log(2) * 2**Y - 1 / Y**2)
    assert x.grad is not None and y.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), want_x, rtol=1e-5)
    np.testing.assert_allclose(y.grad.numpy(), want_y, rtol=1e-5)


def test_control_a_wrong_value_is_noticed() -> None:
    with pytest.raises(AssertionError):
        check(flow.tensor(X) + 1, X)
    with pytest.raises(AssertionError):
        check(flow.tensor(I), I.astype(np.float32))
