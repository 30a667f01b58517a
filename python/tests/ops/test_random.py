"""Ops that draw: reproducible, one draw after the other, and of the right distribution."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support import must_fail

import oneflow as flow


def generator(seed: int) -> flow.Generator:
    """A generator of its own."""
    made = flow.Generator()
    made.manual_seed(seed)
    return made


@pytest.mark.parametrize("name", ["randn", "rand"])
def test_same_seed_same_numbers(name: str) -> None:
    draw = getattr(flow._C, name)
    first = draw(100, generator=generator(5)).numpy()
    second = draw(100, generator=generator(5)).numpy()
    other = draw(100, generator=generator(6)).numpy()
    assert (first == second).all()
    assert (first != other).any()


@pytest.mark.parametrize("name", ["randn", "rand"])
def test_draws_follow_each_other(name: str) -> None:
    draw, source = getattr(flow._C, name), generator(5)
    first, second = (draw(64, generator=source).numpy() for _ in range(2))
    assert (first != second).all()


def test_moments() -> None:
    normal = flow._C.randn(200_000, dtype=flow.float64, generator=generator(1)).numpy()
    assert abs(normal.mean()) < 0.01
    assert abs(normal.var() - 1) < 0.02
    uniform = flow._C.rand(200_000, dtype=flow.float64, generator=generator(1)).numpy()
    assert abs(uniform.mean() - 0.5) < 0.01
    assert abs(uniform.var() - 1 / 12) < 0.01
    assert uniform.min() >= 0 and uniform.max() < 1


def test_in_place_draws() -> None:
    x = flow._C.zeros(50_000)
    assert x.normal_(3.0, 0.5, generator=generator(2)) is x
    assert abs(float(np.mean(x.numpy())) - 3) < 0.02
    assert x.uniform_(-2.0, -1.0, generator=generator(2)) is x
    assert x.numpy().min() >= -2 and x.numpy().max() < -1


def test_control(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws that ask another generator; that begin anew each time."""
    right = flow._C.randn
    monkeypatch.setattr(flow._C, "randn", lambda *size, generator: right(*size))
    must_fail(test_same_seed_same_numbers, "randn")

    def again(*size: int, generator: flow.Generator) -> flow.Tensor:
        return right(*size, generator=generator.manual_seed(1))

    monkeypatch.setattr(flow._C, "randn", again)
    must_fail(test_draws_follow_each_other, "randn")
