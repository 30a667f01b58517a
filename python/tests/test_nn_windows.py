"""Convolutions, poolings, paddings, fold: against plain loops in NumPy."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from tests.support import must_fail, raises, same, values

import oneflow as flow
from oneflow import nn

Array = np.ndarray[Any, Any]


def inside(place: tuple[Any, ...]) -> Any:
    """The index of a place along the spatial axes, for all samples and channels."""
    return (slice(None), slice(None), *place)


def windows(x: Array, size: Any, stride: Any, padding: Any, dilation: Any, fill: float) -> Array:
    """(N, C, *places, *size): the elements of each window of an array (N, C, ...)."""
    axes = len(size)
    pads = [(0, 0), (0, 0), *((p, p) for p in padding)]
    x = np.pad(x, pads, constant_values=fill)
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, size)]
    counts = [(n - r) // s + 1 for n, r, s in zip(x.shape[2:], reach, stride)]
    out = np.empty((*x.shape[:2], *counts, *size))
    for place in itertools.product(*(range(c) for c in counts)):
        cut = tuple(
            slice(i * s, i * s + r, d) for i, s, r, d in zip(place, stride, reach, dilation)
        )
        out[inside(place)] = x[inside(cut)]
    assert out.ndim == 2 + 2 * axes
    return out


def convolve(x: Array, layer: Any, weight: Array, bias: Any) -> Array:
    """What a convolution layer computes, group by group."""
    axes = weight.ndim - 2
    padding = (0,) * axes if layer.padding == "valid" else layer.padding
    if padding == "same":
        padding = tuple(d * (k - 1) // 2 for d, k in zip(layer.dilation, layer.kernel_size))
    cut = windows(x, layer.kernel_size, layer.stride, padding, layer.dilation, 0.0)
    parts = []
    each = cut.shape[1] // layer.groups
    outer = weight.shape[0] // layer.groups
    for g in range(layer.groups):
        own = weight[g * outer : (g + 1) * outer].reshape(outer, -1)
        part = np.moveaxis(cut[:, g * each : (g + 1) * each], 1, 1 + axes)
        flat = part.reshape(*part.shape[: 1 + axes], -1)
        parts.append(np.moveaxis(flat @ own.T, -1, 1))
    out = np.concatenate(parts, 1)
    return out if bias is None else out + bias.reshape(-1, *(1,) * axes)


def double(layer: Any) -> Any:
    return layer.double().eval()


def data(*shape: int) -> Array:
    return np.random.default_rng(0).standard_normal(shape)


CONVS: list[tuple[Any, tuple[int, ...]]] = [
    (lambda: nn.Conv1d(4, 6, 3), (2, 4, 9)),
    (lambda: nn.Conv1d(4, 6, 3, stride=2, padding=2, dilation=2, groups=2), (2, 4, 9)),
    (lambda: nn.Conv1d(4, 6, 3, padding="same"), (2, 4, 9)),
    (lambda: nn.Conv2d(3, 4, (3, 2), (2, 1), (1, 0), bias=False), (2, 3, 7, 6)),
    (lambda: nn.Conv2d(4, 4, 3, padding="valid", groups=4), (1, 4, 5, 6)),
    (lambda: nn.Conv3d(2, 4, (1, 2, 3), padding=1, groups=2), (1, 2, 3, 4, 5)),
]


def check_conv(make: Any, shape: tuple[int, ...], planted: float = 0.0) -> None:
    layer = double(make())
    x = data(*shape)
    bias = None if layer.bias is None else values(layer.bias)
    want = convolve(x, layer, values(layer.weight) + planted, bias)
    same(layer(flow.tensor(x)), want, 1e-10)


@pytest.mark.parametrize(("make", "shape"), CONVS)
def test_convolutions(make: Any, shape: tuple[int, ...]) -> None:
    check_conv(make, shape)
    must_fail(check_conv, make, shape, 0.01)


TRANSPOSED: list[tuple[Any, tuple[int, ...]]] = [
    (lambda: nn.ConvTranspose1d(4, 6, 3, stride=2, padding=1, output_padding=1), (2, 4, 5)),
    (lambda: nn.ConvTranspose1d(4, 6, 3, groups=2, dilation=2, bias=False), (2, 4, 5)),
    (lambda: nn.ConvTranspose2d(3, 4, (3, 2), stride=(2, 1)), (2, 3, 4, 5)),
    (lambda: nn.ConvTranspose3d(2, 4, 2, stride=2, groups=2), (1, 2, 2, 3, 2)),
]


@pytest.mark.parametrize(("make", "shape"), TRANSPOSED)
def test_transposed_convolutions(make: Any, shape: tuple[int, ...]) -> None:
    """<y, conv_transpose(x)> = <conv(y), x>, with the same weight and no bias."""
    layer = double(make())
    bias = None if layer.bias is None else values(layer.bias)
    x = data(*shape)
    out = values(layer(flow.tensor(x)))
    if bias is not None:
        out = out - bias.reshape(-1, *(1,) * (x.ndim - 2))
    y = np.random.default_rng(1).standard_normal(out.shape)
    back = convolve(y, layer, values(layer.weight), None)
    cut = back[tuple(slice(0, n) for n in x.shape)]
    assert back.shape[:2] == x.shape[:2]
    np.testing.assert_allclose((out * y).sum(), (cut * x).sum(), rtol=1e-9)


def test_transposed_convolution_to_a_size() -> None:
    layer = nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1)
    assert layer(flow.ones(1, 2, 4, 4), output_size=(8, 7)).shape == (1, 3, 8, 7)
    with raises(ValueError, "ConvTranspose2d", "output_size", "9"):
        layer(flow.ones(1, 2, 4, 4), output_size=(9, 7))


def test_first_parameters_of_convolutions() -> None:
    """Uniform in +-1 / sqrt(fan_in): the variance is a third of that squared."""
    flow.manual_seed(0)
    layer = nn.Conv2d(16, 64, 3, groups=2)
    bound = 1 / np.sqrt(8 * 9)
    for parameter in (layer.weight, layer.bias):
        assert np.abs(values(parameter)).max() <= bound
    np.testing.assert_allclose(values(layer.weight).std(), bound / np.sqrt(3), rtol=0.05)
    assert layer.weight.shape == (64, 8, 3, 3)
    assert nn.ConvTranspose2d(16, 64, 3, groups=2).weight.shape == (16, 32, 3, 3)


POOLS: list[tuple[Any, tuple[int, ...], float]] = [
    (lambda: nn.MaxPool1d(3, 2, 1), (2, 3, 8), -np.inf),
    (lambda: nn.MaxPool2d((2, 3), padding=(1, 1), dilation=(1, 2)), (2, 3, 6, 9), -np.inf),
    (lambda: nn.MaxPool3d(2, stride=1), (1, 2, 3, 4, 3), -np.inf),
    (lambda: nn.AvgPool1d(3, 2, 1), (2, 3, 8), 0.0),
    (lambda: nn.AvgPool2d((2, 3), stride=1, padding=1), (2, 3, 5, 6), 0.0),
    (lambda: nn.AvgPool3d(2), (1, 2, 4, 4, 3), 0.0),
]


@pytest.mark.parametrize(("make", "shape", "fill"), POOLS)
def test_pools(make: Any, shape: tuple[int, ...], fill: float) -> None:
    layer, x = make(), data(*shape)
    axes = x.ndim - 2
    dilation = getattr(layer, "dilation", (1,) * axes)
    cut = windows(x, layer.kernel_size, layer.stride, layer.padding, dilation, fill)
    last = tuple(range(-axes, 0))
    want = cut.max(last) if fill else cut.mean(last)
    same(layer(flow.tensor(x)), want, 1e-12)


def test_average_pools_with_other_divisors() -> None:
    x = data(1, 1, 4, 4)
    sums = windows(x, (2, 2), (2, 2), (1, 1), (1, 1), 0.0).sum((-1, -2))
    ones = windows(np.ones_like(x), (2, 2), (2, 2), (1, 1), (1, 1), 0.0).sum((-1, -2))
    layer = nn.AvgPool2d(2, padding=1, count_include_pad=False)
    same(layer(flow.tensor(x)), sums / ones, 1e-12)
    same(nn.AvgPool2d(2, padding=1, divisor_override=3)(flow.tensor(x)), sums / 3, 1e-12)


def test_max_pool_gives_places_that_unpool_takes() -> None:
    x = data(2, 3, 6, 8)
    out, places = nn.MaxPool2d(2, return_indices=True)(flow.tensor(x))
    flat = x.reshape(2, 3, -1)
    taken = np.take_along_axis(flat, values(places).reshape(2, 3, -1), -1)
    same(out, taken.reshape(tuple(out.shape)), 0.0)
    back = values(nn.MaxUnpool2d(2)(out, places))
    assert back.shape == x.shape
    np.testing.assert_array_equal(back[back != 0], x[back != 0])
    assert (back != 0).sum() == out.numel()


def adaptive(x: Array, sizes: tuple[int, ...], reduce: Any) -> Array:
    out = np.empty((*x.shape[:2], *sizes))
    for place in itertools.product(*(range(s) for s in sizes)):
        cut = tuple(
            slice(i * n // s, -(-(i + 1) * n // s)) for i, s, n in zip(place, sizes, x.shape[2:])
        )
        part = x[inside(cut)].reshape(*x.shape[:2], -1)
        out[inside(place)] = reduce(part, -1)
    return out


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_adaptive_pools(axes: int) -> None:
    x = data(2, 3, *(7, 5, 6)[:axes])
    sizes = (3, 2, 4)[:axes]
    given: Any = sizes if axes > 1 else sizes[0]
    means = getattr(nn, f"AdaptiveAvgPool{axes}d")(given)
    same(means(flow.tensor(x)), adaptive(x, sizes, np.mean), 1e-12)
    most = getattr(nn, f"AdaptiveMaxPool{axes}d")(given, return_indices=True)
    out, places = most(flow.tensor(x))
    same(out, adaptive(x, sizes, np.max), 0.0)
    taken = np.take_along_axis(x.reshape(2, 3, -1), values(places).reshape(2, 3, -1), -1)
    same(out, taken.reshape(tuple(out.shape)), 0.0)


def test_adaptive_pool_keeps_an_axis() -> None:
    assert nn.AdaptiveAvgPool2d((None, 1))(flow.ones(1, 2, 5, 7)).shape == (1, 2, 5, 1)


PADS: list[tuple[Any, tuple[int, ...], Any, dict[str, Any]]] = [
    (nn.ConstantPad1d((1, 2), 3.0), (1, 2, 4), [(1, 2)], {"constant_values": 3.0}),
    (nn.ConstantPad2d((1, 2, 0, 3), -1.0), (1, 2, 3, 4), [(0, 3), (1, 2)], {"constant_values": -1}),
    (nn.ConstantPad3d(1), (1, 2, 2, 3, 2), [(1, 1)] * 3, {}),
    (nn.ZeroPad2d((2, 0, 1, 0)), (1, 2, 3, 4), [(1, 0), (2, 0)], {}),
    (nn.ReflectionPad1d((2, 1)), (1, 2, 4), [(2, 1)], {"mode": "reflect"}),
    (nn.ReflectionPad2d((2, 1, 1, 2)), (1, 2, 3, 4), [(1, 2), (2, 1)], {"mode": "reflect"}),
    (nn.ReplicationPad1d(2), (1, 2, 3), [(2, 2)], {"mode": "edge"}),
    (nn.ReplicationPad2d((3, 1, 0, 2)), (1, 2, 2, 3), [(0, 2), (3, 1)], {"mode": "edge"}),
]


@pytest.mark.parametrize(("layer", "shape", "pads", "how"), PADS)
def test_pads(layer: Any, shape: tuple[int, ...], pads: Any, how: dict[str, Any]) -> None:
    x = data(*shape)
    same(layer(flow.tensor(x)), np.pad(x, [(0, 0), (0, 0), *pads], **how), 0.0)


def test_unfold_and_fold() -> None:
    x = data(2, 3, 6, 5)
    unfold = nn.Unfold((2, 3), dilation=1, padding=1, stride=2)
    columns = unfold(flow.tensor(x))
    cut = windows(x, (2, 3), (2, 2), (1, 1), (1, 1), 0.0)
    want = np.moveaxis(cut, (2, 3), (4, 5)).reshape(2, 18, -1)
    same(columns, want, 0.0)
    fold = nn.Fold((6, 5), (2, 3), padding=1, stride=2)
    ones = fold(unfold(flow.ones(2, 3, 6, 5, dtype=flow.float64)))
    same(fold(columns), x * values(ones), 1e-12)


loose: Any = nn
BAD: list[tuple[Any, Any, str]] = [
    (lambda: loose.Conv2d(3, 4, 3, groups=2), ValueError, "channels that 2 groups divide"),
    (lambda: loose.Conv2d(0, 4, 3), ValueError, "in_channels as an int of at least 1"),
    (lambda: loose.Conv2d(3, 4, (3, 3, 3)), ValueError, "2 numbers as kernel_size"),
    (lambda: loose.Conv2d(3, 4, "3"), TypeError, "kernel_size as an int or 2"),
    (lambda: loose.Conv2d(3, 4, 3, padding="full"), ValueError, "padding same, valid or numbers"),
    (lambda: loose.Conv2d(3, 4, 3, 2, padding="same"), ValueError, "a stride of 1"),
    (lambda: loose.Conv2d(3, 4, 3, padding_mode="reflect"), ValueError, "padding_mode zeros"),
    (lambda: loose.Conv2d(3, 4, 3)(flow.ones(1, 2, 5, 5)), RuntimeError, "conv2d"),
    (lambda: loose.MaxPool2d(2.5), TypeError, "kernel_size as an int or 2"),
    (lambda: loose.AdaptiveAvgPool2d(None), TypeError, "output_size"),
    (lambda: loose.AdaptiveAvgPool2d(2)(flow.ones(2, 5, 5)), ValueError, "an input of 4 axes"),
    (lambda: loose.ConstantPad1d((1, 2, 3)), ValueError, "2 numbers as padding"),
    (lambda: loose.ZeroPad2d("x"), TypeError, "padding as an int or 4"),
    (lambda: loose.Fold((2, 2, 2), 2), ValueError, "2 numbers as output_size"),
]


@pytest.mark.parametrize(("wrong", "kind", "message"), BAD)
def test_bad_input_is_a_clear_error(wrong: Any, kind: Any, message: str) -> None:
    with raises(kind, message):
        wrong()


def test_repr() -> None:
    conv = nn.Conv2d(3, 4, 3, padding=1, groups=1, bias=False)
    assert repr(conv) == (
        "Conv2d(3, 4, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), bias=False)"
    )
    assert repr(nn.MaxPool1d(2)).startswith("MaxPool1d(kernel_size=(2,), stride=(2,)")
