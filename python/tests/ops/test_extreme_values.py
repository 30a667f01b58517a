"""Elementwise ops and reductions at NaN, infinities, zeros and the ends of each dtype; gradients
far out; integers that cannot be divided. What is right: `extreme_values.py`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.ops.checker import function_of
from tests.ops.extreme_values import ALONG, PAIRED, SINGLE, Case, cases, ends, family
from tests.ops.operands import numpy_dtype
from tests.ops.samples import dtypes_of, each, table
from tests.support import must_fail

import oneflow as flow
from tools.gen.table import Row

TABLE = [row for row in table() if row.places and row.numpy and not row.inplace_only]
# A backward row is given what its forward row gave, never these; the gradients are tested below.
ROWS = [
    row
    for row in TABLE
    if (row.strategy != "none" or row.name in (PAIRED.keys() | ALONG.keys() | SINGLE))
    and not row.name.endswith(("_backward", "_grad"))
    and family(row) != "creation"
]
TRIED = [(row, dtype) for row in ROWS for dtype in dtypes_of(row)]
UNARY = [
    row
    for row in ROWS
    if row.strategy == "elementwise"
    and len(row.signature.tensors) == 1
    and not row.not_differentiable
    and row.name not in {"ceil", "floor", "frac", "round", "sign", "trunc", "cast"}
    and family(row) != "division"
]
WHOLE = {"floor_divide", "trunc_divide", "remainder", "fmod"}


def takes(case: Case) -> bool:
    """Whether NumPy's answer is one: no integer stands for NaN, or for what is out of its range."""
    target = case.sample.arguments.get("dtype")
    return target is None or np.dtype(target).kind == "f" or numpy_dtype(case.dtype).kind != "f"


@each(("row", "dtype"), TRIED)
def test_values(row: Row, dtype: str) -> None:
    if family(row) == "division" and numpy_dtype(dtype).kind in "iu":
        return  # by zero, and exactly: below
    for case in cases(row, dtype):
        if takes(case):
            case.check()


def slopes(row: Row, extra: dict[str, Any], x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The derivative by differences in long double; and where these can be trusted."""
    case = next(iter(cases(row, "float64")))
    name = row.signature.tensors[0].name

    def at(places: np.ndarray) -> np.ndarray:
        operand = replace(case.sample.operands[name], base=places, order=(0,), shape=places.shape)
        sample = replace(case.sample, arguments={**extra, name: operand})
        return replace(case, sample=sample).formula(np.longdouble)[0]

    wide = x.astype(np.longdouble)
    slope, steady = np.zeros_like(wide), np.zeros(x.shape, bool)
    with np.errstate(all="ignore"):
        for step in (np.abs(wide) * 1e-6, np.full_like(wide, 1e-5)):
            ahead = (at(wide + step) - at(wide)) / step
            behind = (at(wide) - at(wide - step)) / step
            half = (at(wide + step / 2) - at(wide - step / 2)) / step
            # No corner, no pole, and no loss of digits by rounding of the place or of the value.
            size = np.abs(half)
            near = (np.abs(ahead - behind) < 1e-3 * size) & (np.abs(ahead - half) < 1e-3 * size)
            near |= (ahead == 0) & (behind == 0) & (half == 0)
            near &= np.abs(at(wide)) * 2e-16 / step < 1e-4 * size + 1e-12
            near &= np.abs(wide) * 1e-19 / step < 1e-5
            slope = np.where(near & ~steady, half, slope)
            steady |= near
    return slope.astype(np.float64), steady


def check_slopes(row: Row, call: Any) -> None:
    """The gradient where numbers are large or small, wherever differences are steady."""
    numbers = ends("float64")
    x = numbers[(np.abs(numbers) > 1e-303) & (np.abs(numbers) < 1e307)]
    name = row.signature.tensors[0].name
    checked = 0
    for extra in [dict(s) for s in row.samples if name not in s] or [{}]:
        leaf = flow.tensor(x, requires_grad=True)
        call(**{name: leaf}, **extra).sum().backward()
        assert leaf.grad is not None
        got = leaf.grad.numpy()
        want, steady = slopes(row, extra, x)
        with np.errstate(all="ignore"):
            near = np.abs(got - want) <= 1e-3 * np.abs(want) + 1e-9
        wrong = np.flatnonzero(steady & ~(near | (got == want)))
        checked += int(steady.sum())
        shown = [f"at {x[i]}: {got[i]}, not {want[i]}" for i in wrong[:6]]
        assert not shown, f"gradient of {row.name} {extra}: {'; '.join(shown)}"
    assert checked > 5, f"{row.name}: no differences can be trusted"


@each("row", UNARY)
def test_gradients(row: Row) -> None:
    check_slopes(row, function_of(row))


def divided(name: str, a: int, b: int) -> int:
    """By Python's integers, which have no end."""
    if name == "floor_divide":
        return a // b
    if name == "remainder":
        return a % b
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return quotient if name == "trunc_divide" else a - quotient * b


@pytest.mark.parametrize("name", sorted(WHOLE))
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
def test_integers_divided(name: str, dtype: str) -> None:
    """By zero: an error or a result, and the process goes on. The least by -1 wraps."""
    numbers = ends(dtype)
    op = getattr(flow, name, None) or getattr(flow._C, name)
    for divisor in ends(dtype):
        x, y = flow.tensor(numbers), flow.tensor(np.full_like(numbers, divisor))
        if divisor == 0:
            try:
                op(x, y).numpy()
            except RuntimeError as error:
                assert "zero" in str(error) or "0" in str(error)
            continue
        exact = [divided(name, int(number), int(divisor)) for number in numbers]
        bits = 8 * np.dtype(dtype).itemsize
        wrapped = np.array([e % (1 << bits) for e in exact], np.uint64).astype(f"u{bits // 8}")
        for other in (y, int(divisor)):
            got = op(x, other).numpy()
            assert got.dtype == np.dtype(dtype)
            np.testing.assert_array_equal(got, wrapped.view(dtype), err_msg=f"{name} {divisor}")


def check_all(row: Row) -> None:
    for case in cases(row, "float64"):
        case.check()


def row_called(name: str) -> Row:
    return next(row for row in table() if row.name == name)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("neg", "np.where(np.isnan(input), 0, -input)"),
        ("neg", "0 - input"),  # the sign of zero
        ("exp", "np.where(input > 88, np.inf, np.exp(input))"),
        ("maximum", "np.fmax(input, other)"),
        ("logsumexp", "np.log(np.sum(np.exp(input), axis=axis(dim), keepdims=keepdim))"),
    ],
)
def test_a_wrong_value_is_noticed(name: str, wrong: str) -> None:
    row = replace(row_called(name), numpy=wrong)
    must_fail(check_all, row)


def test_a_wrong_gradient_is_noticed() -> None:
    def overflows(input: Any) -> Any:
        """tanh whose gradient is NaN far out."""
        y = flow.exp(input)
        return (y - 1 / y) / (y + 1 / y)

    must_fail(check_slopes, row_called("tanh"), overflows)
