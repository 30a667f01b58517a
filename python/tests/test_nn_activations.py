"""Activations: against NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.support import must_fail, raises, same, values

import oneflow as flow
from oneflow import nn

Array = np.ndarray[Any, Any]
X = np.array([-7.0, -3.0, -1.5, -0.3, 0.0, 0.2, 0.75, 2.0, 4.0, 30.0])


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def normal_cdf(x: Array) -> Array:
    return np.array([0.5 * (1 + math.erf(v / math.sqrt(2))) for v in x])


SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772
SPREAD = math.sqrt(2 / math.pi)
ACTIVATIONS: list[tuple[Any, Any]] = [
    (nn.ReLU(), lambda x: np.maximum(x, 0)),
    (nn.ReLU6(), lambda x: np.clip(x, 0, 6)),
    (nn.PReLU(init=0.5), lambda x: np.where(x >= 0, x, 0.5 * x)),
    (nn.LeakyReLU(0.2), lambda x: np.where(x >= 0, x, 0.2 * x)),
    (nn.ELU(2.0), lambda x: np.where(x > 0, x, 2 * np.expm1(np.minimum(x, 0)))),
    (nn.CELU(2.0), lambda x: np.where(x > 0, x, 2 * np.expm1(np.minimum(x, 0) / 2))),
    (
        nn.SELU(),
        lambda x: SELU_SCALE * np.where(x > 0, x, SELU_ALPHA * np.expm1(np.minimum(x, 0))),
    ),
    (nn.GELU(), lambda x: x * normal_cdf(x)),
    (nn.GELU("tanh"), lambda x: x / 2 * (1 + np.tanh(SPREAD * (x + 0.044715 * x**3)))),
    (nn.QuickGELU(), lambda x: x * sigmoid(1.702 * x)),
    (nn.SiLU(), lambda x: x * sigmoid(x)),
    (nn.Mish(), lambda x: x * np.tanh(np.logaddexp(0, x))),
    (nn.SquareReLU(), lambda x: np.maximum(x, 0) ** 2),
    (nn.Tanh(), np.tanh),
    (nn.Sigmoid(), sigmoid),
    (nn.LogSigmoid(), lambda x: -np.logaddexp(0, -x)),
    (nn.Softsign(), lambda x: x / (1 + np.abs(x))),
    (nn.Softplus(2.0, 5.0), lambda x: np.where(2 * x > 5, x, np.logaddexp(0, 2 * x) / 2)),
    (nn.Hardsigmoid(), lambda x: np.clip(x / 6 + 0.5, 0, 1)),
    (nn.Hardswish(), lambda x: x * np.clip(x + 3, 0, 6) / 6),
    (nn.Hardtanh(-2.0, 3.0), lambda x: np.clip(x, -2, 3)),
    (nn.Hardshrink(0.7), lambda x: np.where(np.abs(x) > 0.7, x, 0)),
    (nn.Softshrink(0.7), lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.7, 0)),
    (nn.Threshold(0.5, 9.0), lambda x: np.where(x > 0.5, x, 9)),
    (nn.GLU(), lambda x: x[:5] * sigmoid(x[5:])),
    (nn.Softmax(0), lambda x: np.exp(x - x.max()) / np.exp(x - x.max()).sum()),
    (nn.LogSoftmax(), lambda x: x - x.max() - np.log(np.exp(x - x.max()).sum())),
]


def check(layer: Any, function: Any) -> None:
    same(layer.double()(flow.tensor(X)), function(X), 1e-12)


@pytest.mark.parametrize(("layer", "function"), ACTIVATIONS)
def test_activation(layer: Any, function: Any) -> None:
    check(layer, function)
    must_fail(check, layer, lambda x: function(x) + 1e-6)


INPLACE = [nn.ReLU(True), nn.LeakyReLU(0.2, True), nn.CELU(2.0, True), nn.Hardsigmoid(True),
           nn.Hardshrink(0.7, True), nn.Softshrink(0.7, True)]  # fmt: skip


@pytest.mark.parametrize("layer", INPLACE)
def test_in_place(layer: Any) -> None:
    x = flow.tensor(X)
    out = layer(x)
    plain = type(layer)(*(getattr(layer, name) for name in layer._settings))
    same(x, values(plain(flow.tensor(X))), 0.0)
    same(out, values(x), 0.0)
    assert "inplace=True" in repr(layer)


def test_prelu_by_channel() -> None:
    layer = nn.PReLU(3, init=0.5)
    layer.weight.data = flow.tensor([0.0, 1.0, 2.0])
    x = flow.tensor(np.full((2, 3, 4), -1.0, np.float32))
    same(layer(x)[:, :, 0], np.tile([0.0, -1.0, -2.0], (2, 1)))
    layer(x).sum().backward()
    same(layer.weight.grad, [-8.0, -8.0, -8.0])


def test_softmax_axes() -> None:
    """The axis that is used where none is given."""
    for ndim, axis in ((1, 0), (2, 1), (3, 0), (4, 1)):
        x = flow.randn(*(2, 3, 4, 2)[:ndim])
        same(nn.Softmax()(x).sum(axis), np.ones(tuple(x.sum(axis).shape)), 1e-5)


def test_old_names_of_hardtanh() -> None:
    with pytest.warns(UserWarning, match="min_val"):
        layer = nn.Hardtanh(min_value=-3.0)
    assert repr(layer) == "Hardtanh(min_val=-3.0, max_val=1)"


loose: Any = nn
BAD: list[tuple[Any, Any, str]] = [
    (lambda: loose.GELU("exact"), NotImplementedError, "none or tanh, got 'exact'"),
    (lambda: loose.PReLU(0), ValueError, "num_parameters"),
    (lambda: loose.Hardtanh(1.0, 0.0), ValueError, "max_val of at least min_val"),
    (lambda: loose.Softmax(3)(flow.ones(2)), IndexError, "softmax"),
    (lambda: loose.GLU()(flow.ones(3)), RuntimeError, "glu"),
]


@pytest.mark.parametrize(("wrong", "kind", "message"), BAD)
def test_bad_input_is_a_clear_error(wrong: Any, kind: Any, message: str) -> None:
    with raises(kind, message):
        wrong()


def test_docstrings_say_what_all_activations_share() -> None:
    base: Any = nn.ReLU.__mro__[2]
    found = [value for value in vars(nn).values() if isinstance(value, type)]
    activations: list[Any] = [value for value in found if issubclass(value, base)]
    assert len(activations) > 25
    for activation in activations:
        assert (activation.__doc__ or "").count("Shapes:") == 1, activation
        assert activation.forward.__doc__, activation

    class Mine(nn.ReLU):
        """A user's own."""

    assert Mine.__doc__ == "A user's own."
