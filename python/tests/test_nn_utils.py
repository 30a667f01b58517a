"""Weight normalisation, parameters as vectors, quantization-aware training."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from tests.support import must_fail, raises, same, values

import oneflow as flow
from oneflow import nn


@pytest.mark.parametrize("dim", [0, 1, -1, None])
def test_weight_norm(dim: Any) -> None:
    layer = nn.Linear(3, 4).double()
    weight, bias = values(layer.weight), values(layer.bias)
    assert nn.utils.weight_norm(layer, dim=dim) is layer
    assert [name for name, _ in layer.named_parameters()] == ["bias", "weight_g", "weight_v"]
    axes = {0: (1,), 1: (0,)}.get(dim)
    want = np.sqrt((weight**2).sum(axes, keepdims=axes is not None))
    same(layer.weight_g, want, 1e-12)
    x = np.random.default_rng(0).standard_normal((2, 3))
    same(layer(flow.tensor(x)), x @ weight.T + bias, 1e-12)
    layer.weight_g.data = layer.weight_g.detach() * 2
    layer(flow.tensor(x)).sum().backward()
    assert layer.weight_v.grad is not None
    same(layer.weight_g.grad.sum(), (weight / want * x.sum(0)).sum(), 1e-9)
    nn.utils.remove_weight_norm(layer)
    assert [name for name, _ in layer.named_parameters()] == ["bias", "weight"]
    same(layer.weight, 2 * weight, 1e-12)


def test_weight_norm_of_a_copy_is_its_own() -> None:
    layer = nn.utils.weight_norm(nn.Linear(2, 2))
    layer.weight = layer.weight.detach()  # a result of an op cannot be copied
    other = copy.deepcopy(layer)
    other.weight_g.data = flow.zeros(2, 1)
    same(other(flow.ones(1, 2)), values(other.bias)[None])
    assert (values(layer(flow.ones(1, 2))) != values(layer.bias)).any()


def test_bad_weight_norm() -> None:
    layer = nn.utils.weight_norm(nn.Linear(2, 2))
    with raises(RuntimeError, "weight_norm", "'weight' twice"):
        nn.utils.weight_norm(layer)
    with raises(AttributeError, "no parameter 'scale'"):
        nn.utils.weight_norm(nn.Linear(2, 2), "scale")
    with raises(IndexError, "expects an axis"):
        nn.utils.weight_norm(nn.Linear(2, 2), dim=2)
    with raises(ValueError, "remove_weight_norm"):
        nn.utils.remove_weight_norm(nn.Linear(2, 2))


def test_parameters_as_a_vector() -> None:
    net = nn.Linear(2, 3)
    vector = nn.utils.parameters_to_vector(net.parameters())
    same(vector, np.concatenate([values(p).ravel() for p in net.parameters()]))
    nn.utils.vector_to_parameters(flow.arange(9.0), net.parameters())
    same(net.weight, np.arange(6.0).reshape(3, 2))
    same(net.bias, [6.0, 7.0, 8.0])
    with raises(ValueError, "a vector of 9 elements"):
        nn.utils.vector_to_parameters(flow.ones(8), net.parameters())
    with raises(TypeError, "vector_to_parameters", "got int"):
        nn.utils.vector_to_parameters(3, net.parameters())
    with raises(TypeError, "parameters_to_vector", "got int"):
        nn.utils.parameters_to_vector([3])


def test_one_process_is_parallel_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    net = nn.Linear(2, 2)
    assert nn.parallel.DistributedDataParallel(net, broadcast_buffers=False) is net
    with raises(TypeError, "expects nn.Module, got int"):
        nn.parallel.DistributedDataParallel(3)
    monkeypatch.setenv("WORLD_SIZE", "2")
    with raises(NotImplementedError, "WORLD_SIZE=2"):
        nn.parallel.DistributedDataParallel(net)


# Quantization.

X = np.array([[-1.7, 0.0, 0.4], [0.9, 1.3, 2.6]], np.float32)


def scales(x: Any, formula: str, bit: int, scheme: str) -> tuple[Any, Any]:
    low, high = x.min(-1), x.max(-1)
    reach = np.maximum(np.abs(low), np.abs(high))
    if formula == "cambricon":
        return np.floor(np.log2(reach)) - (bit - 2), 0 * reach
    if scheme == "affine":
        scale = (high - low) / (2**bit - 1)
        return scale, -np.round(low / scale)
    return reach / (2 ** (bit - 1) - 1), 0 * reach


def rounded(x: Any, scale: Any, zero: Any, formula: str, bit: int, scheme: str) -> Any:
    scale = 2.0**scale if formula == "cambricon" else scale
    if formula == "google" and scheme == "affine":
        whole = np.clip(np.round(x / scale + zero), 0, 2**bit - 1)
        return whole, (whole - zero) * scale
    high = 2 ** (bit - 1) - 1
    whole = np.clip(np.round(x / scale), -high - 1, high)
    return whole, whole * scale


SETTINGS = [("google", 8, "symmetric"), ("google", 4, "affine"), ("cambricon", 8, "symmetric")]


def check_quantization(settings: Any, planted: float = 0.0) -> None:
    x = flow.tensor(X, requires_grad=True)
    scale, zero = nn.MinMaxObserver(*settings)(x)
    want_scale, want_zero = scales(X.reshape(1, -1), *settings)
    same(scale, want_scale + planted, 1e-6)
    same(zero, want_zero, 1e-6)
    whole, numbers = rounded(X, want_scale, want_zero, *settings)
    same(nn.Quantization(*settings)(x, scale, zero), whole, 1e-6)
    fake = nn.FakeQuantization(*settings)(x, scale, zero)
    same(fake, numbers, 1e-5)
    fake.sum().backward()
    same(x.grad, np.ones_like(X))


@pytest.mark.parametrize("settings", SETTINGS)
def test_quantization(settings: Any) -> None:
    check_quantization(settings)
    must_fail(check_quantization, settings, 0.01)


def test_quantization_by_rows() -> None:
    for settings in SETTINGS[:2]:
        scale, zero = nn.MinMaxObserver(*settings, per_layer_quantization=False)(flow.tensor(X))
        want_scale, want_zero = scales(X, *settings)
        same(scale, want_scale, 1e-6)
        fake = nn.FakeQuantization(*settings)(flow.tensor(X), scale, zero)
        numbers = rounded(X, want_scale[:, None], want_zero[:, None], *settings)[1]
        same(fake, numbers, 1e-5)


def test_moving_observer() -> None:
    observer = nn.MovingAverageMinMaxObserver(5, "google", 8, "affine", momentum=0.75)
    low = high = 0.0
    for step in range(8):
        x = X * (step + 1)
        scale, _ = observer(flow.tensor(x), flow.tensor([step]))
        if step == 0:
            low, high = x.min(), x.max()
        elif step <= 5:
            low, high = 0.75 * low + 0.25 * x.min(), 0.75 * high + 0.25 * x.max()
        same(scale, [(high - low) / 255], 1e-6)
    observer.eval()
    observer(flow.tensor(X * 99), flow.tensor([0]))
    same(observer.moving_max, [high], 1e-6)
    observer.reset_running_stats()
    same(observer.moving_min, [0.0])


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_qat_convolutions_round_input_and_weight(axes: int) -> None:
    flow.manual_seed(0)
    layer = getattr(nn, f"QatConv{axes}d")(2, 3, 2, quantization_bit=3)
    plain = getattr(nn, f"Conv{axes}d")(2, 3, 2)
    x = flow.randn(1, 2, *(4, 3, 3)[:axes])
    observe, round_ = nn.MinMaxObserver(quantization_bit=3), layer.fake_quantizer
    plain.weight.data = round_(layer.weight, *observe(layer.weight)).detach()
    plain.bias.data = layer.bias.detach()
    same(layer(x), values(plain(round_(x, *observe(x)))), 1e-5)
    layer(x).sum().backward()
    assert layer.weight.grad is not None
    assert (values(plain.weight) != values(layer.weight)).any()


def test_bad_quantization() -> None:
    loose: Any = nn
    with raises(ValueError, "google or cambricon, got 'x'"):
        loose.Quantization("x")
    with raises(ValueError, "from 2 to 8, got 9"):
        loose.FakeQuantization(quantization_bit=9)
    with raises(ValueError, "symmetric or affine, got 'x'"):
        loose.MinMaxObserver(quantization_scheme="x")
    with raises(NotImplementedError, "per_layer_quantization"):
        loose.MinMaxObserver("cambricon", per_layer_quantization=False)
