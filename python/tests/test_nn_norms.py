"""Normalisation: against the same statistics in NumPy."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from tests.support import must_fail, same, values

import oneflow as flow
from oneflow import nn

Array = np.ndarray[Any, Any]
LAYERS = [(nn.BatchNorm1d, (5, 3)), (nn.BatchNorm1d, (5, 3, 4)), (nn.BatchNorm2d, (5, 3, 2, 4)),
          (nn.BatchNorm3d, (2, 3, 2, 4, 3)), (nn.SyncBatchNorm, (5, 3, 4)),
          (nn.FusedBatchNorm2d, (5, 3, 2, 4))]  # fmt: skip


def data(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape) * 2 + 1


def affine(layer: Any, seed: int = 7) -> Any:
    """The layer in float64, with weights and biases that are not 1 and 0."""
    layer = layer.double()
    rng = np.random.default_rng(seed)
    for parameter in layer.parameters():
        parameter.data = flow.tensor(rng.standard_normal(tuple(parameter.shape)))
    return layer


def by_channel(value: Any, x: Array) -> Array:
    return np.asarray(value).reshape(1, -1, *(1,) * (x.ndim - 2))


def normalized(x: Array, layer: Any, mean: Array, variance: Array) -> Array:
    y = (x - by_channel(mean, x)) / np.sqrt(by_channel(variance, x) + layer.eps)
    if layer.affine:
        y = y * by_channel(values(layer.weight), x) + by_channel(values(layer.bias), x)
    return np.maximum(y, 0) if type(layer).__name__.startswith("Fused") else y


def check_batch_norm(make: Any, shape: tuple[int, ...], momentum: Any, track: bool = True) -> None:
    """Three batches in training, then one in evaluation."""
    layer = affine(make(3, eps=0.1, momentum=momentum, track_running_stats=track))
    mean, variance = np.zeros(3), np.ones(3)
    for step in range(1, 4):
        x = data(*shape, seed=step)
        axes = (0, *range(2, x.ndim))
        m, v = x.mean(axes), x.var(axes)
        same(layer(flow.tensor(x)), normalized(x, layer, m, v), 1e-10)
        n = x.size // 3
        part = 1 / step if momentum is None else momentum
        mean = (1 - part) * mean + part * m
        variance = (1 - part) * variance + part * v * n / (n - 1)
    layer.eval()
    if track:
        same(layer.running_mean, mean, 1e-10)
        same(layer.running_var, variance, 1e-10)
        assert layer.num_batches_tracked.item() == 3
    else:
        mean, variance = m, v
        assert layer.running_mean is None
    same(layer(flow.tensor(x)), normalized(x, layer, mean, variance), 1e-10)


@pytest.mark.parametrize("momentum", [0.1, 0.7, None])
@pytest.mark.parametrize(("make", "shape"), LAYERS)
def test_batch_norm(make: Any, shape: tuple[int, ...], momentum: Any) -> None:
    check_batch_norm(make, shape, momentum)


def test_batch_norm_without_running_statistics() -> None:
    check_batch_norm(nn.BatchNorm2d, (5, 3, 2, 4), 0.1, track=False)


def test_planted_fault_is_caught() -> None:
    class Biased(nn.BatchNorm1d):
        """Its running variance forgets the correction for the size of the batch."""

        def forward(self, x: Any) -> Any:
            y = super().forward(x)
            n = x.shape[0]
            self.running_var.sub_(x.detach().var(0, unbiased=True) * (self.momentum / n))
            return y

    must_fail(check_batch_norm, Biased, (5, 3), 0.5)


def test_fused_batch_norm_adds_before_it_rectifies() -> None:
    layer = affine(nn.FusedBatchNorm1d(3, eps=0.1))
    x, addend = data(5, 3), data(5, 3, seed=1)
    plain = affine(nn.BatchNorm1d(3, eps=0.1))
    want = np.maximum(values(plain(flow.tensor(x))) + addend, 0)
    same(layer(flow.tensor(x), flow.tensor(addend)), want, 1e-12)


def test_gradients_of_batch_norm_in_training() -> None:
    """The gradient of a sum is zero, since every batch has the same sum."""
    layer = affine(nn.BatchNorm1d(3))
    x = flow.tensor(data(6, 3), requires_grad=True)
    layer(x).sum().backward()
    same(x.grad, np.zeros((6, 3)), 1e-10)
    same(layer.bias.grad, np.full(3, 6.0), 1e-12)


def test_states_of_the_first_version_load() -> None:
    layer = nn.BatchNorm1d(3)
    state = layer.state_dict()
    del state["num_batches_tracked"]
    state["running_mean"] = flow.ones(3)
    layer.load_state_dict(state)
    same(layer.running_mean, [1.0, 1.0, 1.0])
    assert layer.num_batches_tracked.item() == 0
    layer(flow.ones(2, 3))
    layer.reset_running_stats()
    same(layer.running_mean, [0.0, 0.0, 0.0])


def test_copies_have_statistics_of_their_own() -> None:
    layer = nn.BatchNorm1d(3)
    other = copy.deepcopy(layer)
    layer(flow.tensor(data(4, 3)).float())
    same(other.running_mean, [0.0, 0.0, 0.0])


def test_convert_sync_batchnorm() -> None:
    net = nn.Sequential(nn.Linear(3, 3), nn.Sequential(nn.BatchNorm1d(3, eps=0.5))).eval()
    weight = net[1][0].weight
    converted = nn.SyncBatchNorm.convert_sync_batchnorm(net)
    assert isinstance(converted[1][0], nn.SyncBatchNorm)
    assert converted[1][0].weight is weight
    assert (converted[1][0].eps, converted[1][0].training) == (0.5, False)


def statistics(x: Array, axes: tuple[int, ...]) -> tuple[Array, Array]:
    return x.mean(axes, keepdims=True), x.var(axes, keepdims=True)


@pytest.mark.parametrize("shape", [(2, 3, 5), (2, 3, 4, 2), (1, 3, 2, 3, 2)])
def test_instance_norm(shape: tuple[int, ...]) -> None:
    x = data(*shape)
    mean, variance = statistics(x, tuple(range(2, x.ndim)))
    want = (x - mean) / np.sqrt(variance + 0.1)
    make = getattr(nn, f"InstanceNorm{x.ndim - 2}d")
    same(make(3, eps=0.1).double()(flow.tensor(x)), want, 1e-10)
    layer = affine(make(3, eps=0.1, affine=True))
    want = want * by_channel(values(layer.weight), x) + by_channel(values(layer.bias), x)
    same(layer(flow.tensor(x)), want, 1e-10)


@pytest.mark.parametrize("with_affine", [True, False])
def test_group_norm(with_affine: bool) -> None:
    x = data(2, 6, 3, 2)
    layer = affine(nn.GroupNorm(3, 6, eps=0.1, affine=with_affine))
    grouped = x.reshape(2, 3, -1)
    mean, variance = statistics(grouped, (2,))
    want = ((grouped - mean) / np.sqrt(variance + 0.1)).reshape(x.shape)
    if with_affine:
        want = want * by_channel(values(layer.weight), x) + by_channel(values(layer.bias), x)
    same(layer(flow.tensor(x)), want, 1e-10)


@pytest.mark.parametrize("with_affine", [True, False])
@pytest.mark.parametrize("shape", [4, (4,), (3, 4)])
def test_layer_norm(shape: Any, with_affine: bool) -> None:
    x = data(2, 3, 4)
    layer = affine(nn.LayerNorm(shape, eps=0.1, elementwise_affine=with_affine))
    axes = (2,) if layer.normalized_shape == (4,) else (1, 2)
    mean, variance = statistics(x, axes)
    want = (x - mean) / np.sqrt(variance + 0.1)
    if with_affine:
        want = want * values(layer.weight) + values(layer.bias)
    same(layer(flow.tensor(x)), want, 1e-10)


@pytest.mark.parametrize("with_affine", [True, False])
def test_rms_norm(with_affine: bool) -> None:
    x = data(2, 3, 4)
    layer = affine(nn.RMSNorm(4, eps=0.1, elementwise_affine=with_affine))
    want = x / np.sqrt((x * x).mean(-1, keepdims=True) + 0.1)
    want = want * values(layer.weight) if with_affine else want
    same(layer(flow.tensor(x)), want, 1e-10)


def test_rms_layer_norm() -> None:
    with pytest.warns(UserWarning, match="nn.RMSNorm"):
        layer = affine(nn.RMSLayerNorm(4, eps=0.1))
    x = data(2, 4)
    want = x / np.sqrt((x * x).mean(-1, keepdims=True) + 0.1) * values(layer.weight)
    same(layer(flow.tensor(x)), want, 1e-10)


loose: Any = nn
BAD: list[tuple[Any, Any, str]] = [
    (lambda: loose.BatchNorm2d(3)(flow.ones(2, 3)), ValueError, "an input of 4 axes"),
    (lambda: loose.BatchNorm1d(3)(flow.ones(2, 3, 4, 5)), ValueError, "an input of 2 or 3 axes"),
    (lambda: loose.BatchNorm1d(3)(flow.ones(2, 4)), RuntimeError, "channels on axis 1"),
    (lambda: loose.BatchNorm1d(-1), ValueError, "num_features"),
    (lambda: loose.SyncBatchNorm(3)(flow.ones(3)), ValueError, "at least 2 axes"),
    (lambda: loose.InstanceNorm1d(3)(flow.ones(2, 3)), ValueError, "an input of 3 axes"),
    (lambda: loose.GroupNorm(0, 4), ValueError, "num_groups"),
    (lambda: loose.GroupNorm(2, 4)(flow.ones(2, 3, 5)), RuntimeError, "(N, 4, ...)"),
    (lambda: loose.GroupNorm(3, 4), ValueError, "channels that 3 groups divide"),
    (lambda: loose.LayerNorm(4)(flow.ones(2, 5)), RuntimeError, "layer_norm"),
    (lambda: loose.LayerNorm("x"), ValueError, "normalized_shape"),
    (lambda: loose.RMSNorm(4)(flow.ones(2, 5)), RuntimeError, "rms_norm"),
]


@pytest.mark.parametrize(("wrong", "kind", "message"), BAD)
def test_bad_input_is_a_clear_error(wrong: Any, kind: Any, message: str) -> None:
    with pytest.raises(kind) as caught:
        wrong()
    assert message in str(caught.value)


def test_repr() -> None:
    assert repr(nn.BatchNorm2d(3)) == (
        "BatchNorm2d(3, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)"
    )
    assert repr(nn.LayerNorm(3)) == "LayerNorm((3,), eps=1e-05, elementwise_affine=True)"
