"""Results so large that they go past the caches: the values of numpy, to the last element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow as flow

COUNT = (1 << 22) + 37  # float32: more than 16 MB, and the rest of a line


def operand(seed: int, dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    drawn = np.random.default_rng(seed).uniform(0.1, 2.0, COUNT)
    return np.asarray(drawn - (0 if seed == 1 else 1), dtype)


CASES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "add": (lambda x, y: x + y, lambda x, y: x + y),
    "sub": (lambda x, y: flow.sub(x, y), lambda x, y: x - y),
    "mul": (lambda x, y: x * y, lambda x, y: x * y),
    "div": (lambda x, y: y / x, lambda x, y: y / x),
    "scaled": (lambda x, y: flow.add(x, y, alpha=3), lambda x, y: x + 3 * y),
    "add number": (lambda x, y: x + 1.5, lambda x, y: x + x.dtype.type(1.5)),
    "number less": (lambda x, y: 1.5 - x, lambda x, y: x.dtype.type(1.5) - x),
    "maximum": (flow.maximum, np.maximum),
    "clamp": (lambda x, y: y.clamp(-0.5, 0.5), lambda x, y: y.clip(-0.5, 0.5)),
    "abs": (lambda x, y: y.abs(), lambda x, y: abs(y)),
    "square": (lambda x, y: flow.square(x), lambda x, y: x * x),
    "sqrt": (lambda x, y: x.sqrt(), lambda x, y: np.sqrt(x)),
    "exp": (lambda x, y: y.exp(), lambda x, y: np.exp(y)),
    "floor": (lambda x, y: y.floor(), lambda x, y: np.floor(y)),
    "addcmul": (lambda x, y: flow.addcmul(x, y, x), lambda x, y: x + y * x),
    "leaky_relu": (
        lambda x, y: flow.nn.functional.leaky_relu(y, 0.5), lambda x, y: np.where(y > 0, y, y / 2)
    ),
    "sigmoid": (lambda x, y: y.sigmoid(), lambda x, y: 1 / (1 + np.exp(-y))),
    "stack": (lambda x, y: flow.stack((x, y), 1), lambda x, y: np.stack((x, y), 1)),
    "stack of three": (
        lambda x, y: flow.stack((x, y, x), 1), lambda x, y: np.stack((x, y, x), 1)
    ),
    "full": (lambda x, y: flow.full((COUNT,), 2.5), lambda x, y: np.full(COUNT, 2.5, np.float32)),
    "zeros": (lambda x, y: flow.zeros(COUNT), lambda x, y: np.zeros(COUNT, np.float32)),
}  # fmt: skip


def check(name: str, dtype: Any, make: Any = None) -> None:
    """The op's whole result, and its operands as they were."""
    x, y = operand(1, dtype), operand(2, dtype)
    op, reference = CASES[name]
    a, b = flow.tensor(x), flow.tensor(y)
    got = (make or op)(a, b).numpy()
    want = reference(x, y)
    assert got.shape == want.shape and got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    assert (a.numpy() == x).all() and (b.numpy() == y).all()


@pytest.mark.parametrize("name", CASES)
def test_values(name: str) -> None:
    check(name, np.float32)


@pytest.mark.parametrize("name", ["mul", "add number", "clamp"])
def test_double(name: str) -> None:
    check(name, np.float64)


@pytest.mark.parametrize("shape", [(33, 300), (64, 32), (515, 257)])
def test_a_transposed_operand(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(5)
    x, y = rng.uniform(-1, 1, shape), rng.uniform(-1, 1, shape[::-1])
    for dtype in (np.float32, np.float64, np.int64, np.int8):
        a: Any = (10 * x).astype(dtype)
        b: Any = (10 * y).astype(dtype)
        s, t = flow.tensor(a), flow.tensor(b).t()
        np.testing.assert_array_equal((s - t).numpy(), a - b.T)
        np.testing.assert_array_equal((t - s).numpy(), b.T - a)
        np.testing.assert_array_equal((s == t).numpy(), a == b.T)
        np.testing.assert_array_equal(flow.tensor(a).sub_(t).numpy(), a - b.T)
    square = flow.tensor(x[:32, :32])
    want = square.numpy() + square.numpy().T
    np.testing.assert_array_equal(square.add_(square.t()).numpy(), want)


def test_in_place() -> None:
    x, y = operand(1), operand(2)
    a = flow.tensor(x)
    a.add_(flow.tensor(y)).mul_(2).abs_()
    np.testing.assert_allclose(a.numpy(), abs((x + y) * 2), rtol=1e-6)


def test_a_lost_end_is_noticed() -> None:
    def loses(x: Any, y: Any) -> Any:
        z = x * y
        z[-3:] = 0
        return z

    with pytest.raises(AssertionError):
        check("mul", np.float32, loses)


def test_permutations() -> None:
    for count in (1, 2, 513, 100_000):
        order = flow.randperm(count).numpy()
        assert order.dtype == np.int64
        np.testing.assert_array_equal(np.sort(order), np.arange(count))
    short = flow.randperm(1000, dtype=flow.int32).numpy()
    np.testing.assert_array_equal(np.sort(short), np.arange(1000))


def test_a_permutation_of_a_seed_stays() -> None:
    """The same seed, the same order; and each number is as likely as the other at each place."""
    flow.manual_seed(7)
    first = flow.randperm(6).tolist()
    flow.manual_seed(7)
    assert flow.randperm(6).tolist() == first
    flow.manual_seed(1)
    firsts = np.array([flow.randperm(5).numpy() for _ in range(2000)])
    for place in range(5):
        counts = np.bincount(firsts[:, place], minlength=5)
        assert (abs(counts - 400) < 100).all(), counts
