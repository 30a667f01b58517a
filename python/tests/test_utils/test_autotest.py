"""autotest finds every kind of difference, and says after which calls."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.test_utils.standin import planted

import oneflow as flow
from oneflow.test_utils import automated_test_util as util
from oneflow.test_utils.automated_test_util import autotest, dual_calls, random_tensor, torch

CASE = unittest.TestCase()


def run(function: Callable[..., Any], **options: Any) -> None:
    """Runs a function as autotest does with a method."""
    autotest(**{"n": 2, **options})(function)(CASE)


def product(case: Any) -> Any:
    """A program of two calls."""
    x = random_tensor(ndim=2, dim0=2, dim1=3)
    y = random_tensor(ndim=2, dim0=2, dim1=3)
    return torch.mul(x, y) + x


def test_equal_frameworks_pass() -> None:
    run(product)
    run(lambda case: torch.mul(random_tensor(ndim=1, dim0=4), 2.0))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda x, y: flow.mul(x, y) * 1.01, "OneFlow has"),
        (lambda x, y: flow.mul(x, y).sum(), "shape"),
        (lambda x, y: flow.mul(x, y) + (x * 0.1 - x.detach() * 0.1), "gradient of random_tensor"),
        (lambda x, y: flow.mul(x, y).to(flow.float64), "dtype float64 in PyTorch, float32"),
    ],
)
def test_a_difference_is_found(wrong: Any, message: str) -> None:
    with planted(mul=wrong), pytest.raises(AssertionError, match=message) as caught:
        run(product, check_dtype=True)
    assert "mul(Tensor(2, 3), Tensor(2, 3))" in str(caught.value)


def test_a_missing_gradient_is_found() -> None:
    def program(case: Any) -> Any:
        return torch.relu(random_tensor(ndim=1, dim0=3))

    with planted(relu=lambda x: flow.relu(x)):
        run(program)
    detached = dual_calls.call
    try:
        dual_calls.call = lambda *given: (detached(*given)[0], detached(*given)[1].detach())
        with pytest.raises(
            AssertionError, match="requires grad in PyTorch, in OneFlow it does not"
        ):
            run(program)
    finally:
        dual_calls.call = detached


def test_modules_have_the_same_weights_and_gradients() -> None:
    def program(case: Any) -> Any:
        layer = torch.nn.Linear(3, 2)
        layer.train()
        return layer(random_tensor(ndim=2, dim0=4, dim1=3))

    run(program)

    class Wrong(flow.nn.Linear):
        """Uses its bias twice."""

        def forward(self, x: Any) -> Any:
            return super().forward(x) + self.bias - self.bias.detach()

    with planted(nn=type("nn", (), {"Linear": Wrong, "Module": flow.nn.Module})):
        with pytest.raises(AssertionError, match=r"gradient of nn\.Linear.*\.bias"):
            run(lambda case: torch.nn.Linear(3, 2)(random_tensor(ndim=2, dim0=4, dim1=3)))


def test_what_pytorch_refuses_is_drawn_anew() -> None:
    drawn = []

    def picky(x: Any, n: int) -> Any:
        drawn.append(n)
        if n != 2:
            raise RuntimeError("only 2")
        return flow.mul(x, n)

    def program(case: Any) -> Any:
        return torch.mul(random_tensor(ndim=1, dim0=3), util.random(1, 5).to(int))

    with planted(mul=picky):
        run(program, n=1)
    assert drawn[-1] == 2
    with planted(mul=lambda x, n: 1 / 0):
        with pytest.raises(ValueError, match="PyTorch refuses all arguments: mul: ZeroDivision"):
            run(program)


def test_what_only_oneflow_refuses_is_an_error() -> None:
    with planted(relu=lambda x, y: x):
        with pytest.raises(TypeError, match="relu"):
            run(lambda case: torch.relu(random_tensor(ndim=1, dim0=3), 7))


def test_tuples_and_numbers_are_compared() -> None:
    def program(case: Any) -> Any:
        x = random_tensor(ndim=2, dim0=2, dim1=3)
        assert len(x) == 2
        return torch.relu(x), x.sum()

    run(program)
    with planted(relu=lambda x: flow.relu(x) + 1), pytest.raises(AssertionError):
        run(program)


def test_numpy_sees_the_value_of_both() -> None:
    x = random_tensor(ndim=1, dim0=3, requires_grad=False)
    assert np.allclose(x.numpy(), np.asarray(x.oneflow.numpy()))
    wrong = util.GetDualObject("wrong", np.zeros(2), np.ones(2))
    with pytest.raises(AssertionError, match="wrong: PyTorch gives"):
        np.asarray(wrong)


class EagerGraph:
    """A graph that runs its `build` at once; `offset` plants a wrong result."""

    offset = 0.0

    def __init__(self) -> None:
        """Nothing to make."""

    def build(self) -> Any:
        """What a subclass computes."""
        raise NotImplementedError

    def __call__(self) -> Any:
        return self.build() + self.offset


@pytest.mark.parametrize("offset", [0.0, 0.5])
def test_the_leg_in_a_graph_compares_values(monkeypatch: pytest.MonkeyPatch, offset: float) -> None:
    monkeypatch.setattr(flow.nn, "Graph", EagerGraph, raising=False)
    monkeypatch.setattr(EagerGraph, "offset", offset)

    def in_place(case: Any) -> Any:
        x = random_tensor(ndim=1, dim0=3, requires_grad=False)
        return x.add_(1.0)

    if offset:
        with pytest.raises(util.OneFlowGraphBuildOrRunError, match="a graph gives"):
            run(product)
        run(product, check_graph=False)
    else:
        run(product)
        run(in_place)


def test_a_program_may_exchange_one_side() -> None:
    x = random_tensor(ndim=1, dim0=3)
    x.oneflow = x.oneflow + 1
    assert x.oneflow.shape == (3,) and not hasattr(x.pytorch, "oneflow")
    with pytest.raises(AssertionError, match="PyTorch gives"):
        np.asarray(x)
