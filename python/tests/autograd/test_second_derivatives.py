"""Second derivatives of the losses: backward of backward against finite differences of backward."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.support import must_fail, numeric_gradient, same

import oneflow as flow

F = flow.nn.functional

X = np.random.default_rng(8).standard_normal((4, 3))
DIRECTION = np.random.default_rng(9).standard_normal((4, 3))
TARGET = flow.tensor([0, 2, 1, 2])
WEIGHT = flow.tensor([0.5, 2.0, 1.5], dtype=flow.float64)

LOSSES: dict[str, Any] = {
    "log_softmax": lambda x: (F.log_softmax(x, 1) * F.log_softmax(x * 2, 0)).sum(),
    "cross entropy": lambda x: F.cross_entropy(x * x, TARGET),
    "summed": lambda x: F.cross_entropy(x, TARGET, reduction="sum"),
    "weighted": lambda x: F.cross_entropy(x, TARGET, weight=WEIGHT, ignore_index=1),
    "each": lambda x: (F.cross_entropy(x, TARGET, reduction="none") * F.relu(x[:, 0])).sum(),
    "nll_loss": lambda x: F.nll_loss(x * x * x, TARGET, weight=WEIGHT),
    "exp": lambda x: flow._C.exp(x * x).sum(),
}


def check(loss: Any, tolerance: float = 1e-5) -> None:
    """The gradient of (gradient of the loss . a direction)."""
    direction = flow.tensor(DIRECTION)

    def slope(x: Any, create_graph: bool = False) -> Any:
        if not x.requires_grad:
            x.requires_grad_()
        (g,) = flow.autograd.grad(loss(x), x, create_graph=create_graph)
        return (g * direction).sum()

    x = flow.tensor(X, requires_grad=True)
    (second,) = flow.autograd.grad(slope(x, create_graph=True), x)
    same(second, numeric_gradient(slope, X), tolerance)


@pytest.mark.parametrize("name", list(LOSSES))
def test_second_derivatives(name: str) -> None:
    check(LOSSES[name])


# Whose second derivative is zero everywhere: the gradient depends on the operand all the same.
LINEAR: dict[str, Any] = {
    "relu": F.relu,
    "leaky_relu": F.leaky_relu,
    "hardsigmoid": F.hardsigmoid,
    "hardtanh": F.hardtanh,
    "hardshrink": F.hardshrink,
    "threshold": lambda x: F.threshold(x, 0.1, 20.0),
    "prelu": lambda x: F.prelu(x, flow.tensor([0.5], dtype=flow.float64)),
    "pow of 1": lambda x: flow.pow(x, 1),
    "pow of 0": lambda x: flow.pow(x, 0.0),
    "clamp": lambda x: x.clamp(-0.5, 0.5),
    "maximum": lambda x: flow.maximum(x, flow.tensor([0.1, 0.2, 0.3], dtype=flow.float64)),
    "l1_loss": lambda x: F.l1_loss(x, flow.zeros(4, 3, dtype=flow.float64)),
    "smooth_l1_loss": lambda x: F.smooth_l1_loss(x, flow.zeros(4, 3, dtype=flow.float64), beta=0.0),
    "kl_div": lambda x: flow._C.kl_div_loss(x, flow.ones(4, 3, dtype=flow.float64)),
    "nll_loss": lambda x: F.nll_loss(x, TARGET),
}


def check_connected(op: Any) -> None:
    """The gradient requires grad, and its gradient is zero."""
    x = flow.tensor(X, requires_grad=True)
    (slope,) = flow.autograd.grad(op(x).sum(), x, create_graph=True)
    assert slope.requires_grad
    (second,) = flow.autograd.grad(slope.sum(), x)
    same(second, np.zeros((4, 3)), 0.0)


@pytest.mark.parametrize("name", list(LINEAR))
def test_zero_second_derivatives(name: str) -> None:
    check_connected(LINEAR[name])


def test_gradient_by_target_is_connected() -> None:
    x = flow.tensor(X, requires_grad=True)
    y = flow.tensor(X + 1.0, requires_grad=True)
    by_x, by_y = flow.autograd.grad(F.l1_loss(x, y), [x, y], create_graph=True)
    for slope in (by_x, by_y):
        for second in flow.autograd.grad(slope.sum(), [x, y], retain_graph=True):
            same(second, np.zeros((4, 3)), 0.0)


def test_control_of_zeros() -> None:
    must_fail(check_connected, lambda x: x * 2)


def test_control() -> None:
    def wrong(x: Any) -> Any:
        return F.cross_entropy(x * x.detach(), TARGET)

    must_fail(check, wrong)
