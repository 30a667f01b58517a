"""What the layers and losses compute, also of nothing and of what is no number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.support import must_fail, raises, same, values

import oneflow as flow
from oneflow import nn

F: Any = nn.functional


def check_linear(layer: Any) -> None:
    """x W^T + b, over any leading axes."""
    x = np.random.default_rng(0).standard_normal((2, 5, 3)).astype(np.float32)
    expected = x @ values(layer.weight).T
    if layer.bias is not None:
        expected = expected + values(layer.bias)
    same(layer(flow.tensor(x)), expected, 1e-5)


@pytest.mark.parametrize("bias", [True, False])
def test_linear(bias: bool) -> None:
    layer = nn.Linear(3, 4, bias=bias)
    check_linear(layer)
    bound = 1 / np.sqrt(3)
    for parameter in layer.parameters():
        assert np.abs(values(parameter)).max() <= bound
        assert np.abs(values(parameter)).max() > bound / 10
    assert (layer.bias is None) != bias


def test_linear_without_registered_parameters() -> None:
    """A weight that is computed, as weight normalisation does it, is used."""
    layer = nn.Linear(3, 4)
    weight = values(layer.weight)
    del layer.weight
    layer.weight = flow.tensor(weight) * 2
    check_linear(layer)


def log_softmax(x: np.ndarray[Any, Any], axis: int) -> np.ndarray[Any, Any]:
    shifted = x - x.max(axis=axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))


def reference_loss(
    logp: np.ndarray[Any, Any], target: Any, weight: Any, ignore: int, reduction: str
) -> Any:
    total, weights, each = 0.0, 0.0, []
    for row, label in zip(logp, target):
        w = 0.0 if label == ignore else (1.0 if weight is None else weight[label])
        each.append(-w * row[label] if w else 0.0)
        total, weights = total + each[-1], weights + w
    return {"none": np.array(each), "sum": total, "mean": total / weights}[reduction]


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("weighted", [False, True])
def test_losses(reduction: str, weighted: bool) -> None:
    rng = np.random.default_rng(1)
    scores = rng.standard_normal((6, 4))
    target = np.array([0, 3, 2, 2, 1, 0])
    weight = rng.random(4) + 0.5 if weighted else None
    options: dict[str, Any] = {
        "weight": None if weight is None else flow.tensor(weight),
        "ignore_index": 2,
        "reduction": reduction,
    }
    logp = log_softmax(scores, 1)
    expected = reference_loss(logp, target, weight, 2, reduction)
    same(nn.NLLLoss(**options)(flow.tensor(logp), flow.tensor(target)), expected, 1e-10)
    same(nn.CrossEntropyLoss(**options)(flow.tensor(scores), flow.tensor(target)), expected, 1e-10)
    same(F.cross_entropy(flow.tensor(scores), flow.tensor(target), **options), expected, 1e-10)


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 3, 4), (2, 3, 4, 5)])
def test_log_softmax_default_axis(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(2).standard_normal(shape)
    axis = 0 if len(shape) in (1, 3) else 1
    same(nn.LogSoftmax()(flow.tensor(x)), log_softmax(x, axis), 1e-10)
    same(F.log_softmax(flow.tensor(x), -1), log_softmax(x, -1), 1e-10)


def test_relu_flatten_identity() -> None:
    x = flow.tensor([[-1.0, 2.0], [3.0, -4.0]])
    same(nn.ReLU()(x), [[0.0, 2.0], [3.0, 0.0]])
    same(x, [[-1.0, 2.0], [3.0, -4.0]])
    assert nn.ReLU(inplace=True)(x) is x
    same(x, [[0.0, 2.0], [3.0, 0.0]])
    assert nn.Flatten()(flow.zeros(2, 3, 4)).shape == (2, 12)
    assert nn.Flatten(0)(flow.zeros(2, 3)).shape == (6,)
    assert nn.Identity(1, a=2)(x) is x


# Nothing, and what is no number.


def test_layers_of_nothing() -> None:
    """Zero rows, zero features: results and gradients of the right shapes, and no crash."""
    layer = nn.Linear(3, 4)
    x = flow.zeros(0, 3, requires_grad=True)
    layer(x).sum().backward()
    assert x.grad.shape == (0, 3)
    same(layer.weight.grad, np.zeros((4, 3)))
    same(layer.bias.grad, np.zeros(4))
    narrow = nn.Linear(0, 2)
    narrow(flow.zeros(3, 0)).sum().backward()
    same(narrow.bias.grad, [3, 3])
    assert narrow.weight.grad.shape == (2, 0)
    assert nn.Linear(2, 0)(flow.zeros(3, 2)).shape == (3, 0)
    assert nn.Flatten()(flow.zeros(2, 0, 3)).shape == (2, 0)
    assert nn.LogSoftmax(1)(flow.zeros(2, 0)).shape == (2, 0)
    assert nn.ReLU()(flow.zeros(0)).shape == (0,)


@pytest.mark.parametrize("loss", [nn.CrossEntropyLoss, nn.NLLLoss])
def test_losses_of_nothing(loss: Any) -> None:
    scores, target = flow.zeros(0, 3, requires_grad=True), flow.zeros(0, dtype=flow.int64)
    assert np.isnan(loss()(scores, target).item())
    assert loss(reduction="sum")(scores, target).item() == 0
    each = loss(reduction="none")(scores, target)
    assert each.shape == (0,)
    each.sum().backward()
    assert scores.grad.shape == (0, 3)
    with raises(IndexError, "expects target"):
        loss()(flow.zeros(2, 0), flow.zeros(2, dtype=flow.int64)).item()


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_what_is_no_number_spreads_and_stops_nothing(number: float) -> None:
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    x = flow.full((2, 3), number)
    loss = nn.CrossEntropyLoss()(net(x), flow.tensor([0, 1]))
    assert not np.isfinite(loss.item())
    loss.backward()
    assert np.isnan(values(net[0].weight.grad)).any()
    assert np.isfinite(nn.CrossEntropyLoss()(net(flow.ones(2, 3)), flow.tensor([0, 1])).item())


BAD: list[tuple[Any, Any, str]] = [
    (lambda: nn.Linear(3, 4)(3), TypeError, "linear"),
    (lambda: nn.Linear(3, 4)(flow.zeros(2, 5)), RuntimeError, r"\(2, 5\) and weight \(4, 3\)"),
    (lambda: nn.Linear(3, 4)(flow.tensor(1.0)), RuntimeError, r"input \(\) and weight \(4, 3\)"),
    (lambda: nn.Linear(3, 4)(flow.zeros(2, 3).double()), RuntimeError, "float64 .* float32"),
    (lambda: nn.Linear(3, 4)(flow.arange(3)), RuntimeError, "int64"),
    (lambda: nn.Linear(3, 4, dtype=flow.int64), RuntimeError, "floating-point"),
    (lambda: nn.Linear(3, 4, device="cuda"), RuntimeError, "cuda"),
    (lambda: F.cross_entropy(flow.zeros(2, 3), [0, 1]), TypeError, "cross_entropy"),
    (lambda: F.cross_entropy(flow.zeros(2, 3), flow.tensor([0.0, 1.0])), RuntimeError, "int64"),
    (lambda: F.cross_entropy(flow.zeros(2, 3), flow.arange(3)), RuntimeError, r"shape \(2,\)"),
    (lambda: F.cross_entropy(flow.zeros(2, 3), flow.tensor([0, 3])).item(), IndexError, "got 3"),
    (lambda: F.cross_entropy(flow.zeros(2, 3), flow.tensor([-1, 0])).item(), IndexError, "got -1"),
    (
        lambda: F.cross_entropy(flow.zeros(2, 3), flow.tensor([0, 1]), flow.ones(2)),
        RuntimeError,
        r"weight of shape \(3,\)",
    ),
    (
        lambda: F.nll_loss(flow.zeros(2, 3), flow.tensor([0, 1]), reduction="max"),
        (ValueError, RuntimeError),
        "max",
    ),
    (lambda: F.linear(flow.zeros(3), flow.zeros(3)), RuntimeError, r"\[linear\]"),
    (lambda: F.linear(flow.zeros(3), flow.zeros(4, 3), flow.zeros(3)), RuntimeError, r"\(4,\)"),
]


@pytest.mark.parametrize(("wrong", "kind", "message"), BAD)
def test_a_bad_call_is_a_clear_error(wrong: Any, kind: Any, message: str) -> None:
    with raises(kind, message):
        wrong()


# Positive control: a planted fault.


class ForgetsBias(nn.Linear):
    def forward(self, input: Any) -> Any:
        return F.linear(input, self.weight)


def test_controls() -> None:
    must_fail(check_linear, ForgetsBias(3, 4))
