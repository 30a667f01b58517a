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


def test_control() -> None:
    def wrong(x: Any) -> Any:
        return F.cross_entropy(x * x.detach(), TARGET)

    must_fail(check, wrong)
