"""Dropout, embedding, and what makes tensors larger: against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.support import must_fail, raises, same, values

import oneflow as flow
from oneflow import nn


def test_dropout_drops_the_part_it_should() -> None:
    flow.manual_seed(0)
    layer = nn.Dropout(0.25)
    x = flow.ones(200, 200, requires_grad=True)
    y = layer(x)
    kept = values(y) != 0
    assert abs(kept.mean() - 0.75) < 0.01
    np.testing.assert_allclose(values(y)[kept], 1 / 0.75, rtol=1e-6)
    y.sum().backward()
    same(x.grad, values(y), 1e-6)
    same(layer.eval()(x), np.ones((200, 200)))
    assert repr(layer) == "Dropout(p=0.25, inplace=False)"


def test_coin_flip() -> None:
    throw = nn.CoinFlip(10000, 7, 0.3)
    first = values(throw())
    assert first.dtype == np.int8
    assert set(first.tolist()) == {0, 1}
    assert abs(first.mean() - 0.3) < 6 * np.sqrt(0.21 / 10000)
    assert values(throw()).tolist() != first.tolist()
    assert values(nn.CoinFlip(10000, 7, 0.3)()).tolist() == first.tolist()
    assert values(nn.CoinFlip(4, -1, 0.0)()).tolist() == [0] * 4
    where = flow.placement("cpu", [0])
    assert nn.CoinFlip(2, placement=where, sbp=flow.sbp.broadcast)().placement == where


def test_dropout_with_an_addend_and_in_place() -> None:
    layer = nn.Dropout(1.0)
    same(layer(flow.ones(2), flow.tensor([3.0, 4.0])), [3.0, 4.0])
    x = flow.ones(2)
    nn.Dropout(1.0, inplace=True)(x)
    same(x, [0.0, 0.0])


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_dropout_of_channels(axes: int) -> None:
    flow.manual_seed(1)
    layer = getattr(nn, f"Dropout{axes}d")(0.5)
    y = values(layer(flow.ones(20, 30, *(2, 3, 2)[:axes]))).reshape(20, 30, -1)
    assert (y == y[:, :, :1]).all()
    assert set(np.unique(y)) == {0.0, 2.0}
    assert 0.4 < (y[:, :, 0] != 0).mean() < 0.6


def test_embedding() -> None:
    layer = nn.Embedding(5, 3, padding_idx=-1)
    assert layer.padding_idx == 4
    table = values(layer.weight)
    assert (table[4] == 0).all()
    assert (table[:4] != 0).all()
    places = flow.tensor([[0, 4], [2, 0]])
    out = layer(places)
    same(out, table[[[0, 4], [2, 0]]])
    out.sum().backward()
    want = np.zeros((5, 3))
    want[0], want[2] = 2, 1
    same(layer.weight.grad, want)
    assert repr(layer) == "Embedding(5, 3, padding_idx=4)"


def test_embedding_by_frequency_and_norm() -> None:
    layer = nn.Embedding(4, 3, scale_grad_by_freq=True, max_norm=1.0)
    layer.weight.data = flow.full((4, 3), 2.0)
    out = layer(flow.tensor([1, 1, 2]))
    out.sum().backward()
    same(layer.weight.grad, [[0] * 3, [1] * 3, [1] * 3, [0] * 3])
    lengths = np.linalg.norm(values(layer.weight), axis=1)
    np.testing.assert_allclose(lengths, [2 * np.sqrt(3), 1, 1, 2 * np.sqrt(3)], rtol=1e-4)


def test_embedding_from_a_table() -> None:
    table = flow.tensor([[1.0, 2.0], [3.0, 4.0]])
    layer = nn.Embedding.from_pretrained(table, freeze=False)
    assert layer.weight.requires_grad
    same(layer(flow.tensor([1])), [[3.0, 4.0]])


def test_pixel_shuffle() -> None:
    x = np.random.default_rng(0).standard_normal((2, 12, 3, 4))
    want = x.reshape(2, 2, 2, 3, 3, 4).transpose(0, 1, 4, 2, 5, 3).reshape(2, 2, 6, 12)
    layer = nn.PixelShuffle(h_upscale_factor=2, w_upscale_factor=3)
    same(layer(flow.tensor(x)), want, 0.0)


def test_upsampling() -> None:
    x = np.random.default_rng(0).standard_normal((1, 2, 3, 4))
    nearest = nn.UpsamplingNearest2d(scale_factor=2)(flow.tensor(x))
    same(nearest, x.repeat(2, 2).repeat(2, 3), 0.0)
    bilinear = values(nn.UpsamplingBilinear2d((5, 7))(flow.tensor(x)))
    same(flow.tensor(bilinear[:, :, ::2, ::2]), x, 1e-12)
    same(flow.tensor(bilinear[:, :, 1, 0]), (x[:, :, 0, 0] + x[:, :, 1, 0]) / 2, 1e-12)


loose: Any = nn
BAD: list[tuple[Any, Any, str]] = [
    (lambda: loose.Dropout(1.5), ValueError, "p from 0 to 1, got 1.5"),
    (lambda: loose.CoinFlip(3, None, 2.0), ValueError, "probability from 0 to 1, got 2.0"),
    (lambda: loose.CoinFlip(-3), ValueError, "batch_size of at least 0, got -3"),
    (lambda: loose.Embedding(3, 2, padding_idx=3), AssertionError, "padding_idx among 3 rows"),
    (lambda: loose.Embedding(3, 2, sparse=True), NotImplementedError, "sparse=False"),
    (lambda: loose.Embedding(3, 2, _weight=flow.ones(2, 2)), ValueError, "_weight of shape"),
    (lambda: loose.PixelShuffle(2, 2, 2), ValueError, "upscale_factor alone"),
    (lambda: loose.PixelShuffle(), ValueError, "h_upscale_factor"),
    (lambda: loose.Upsample()(flow.ones(1, 1, 2)), ValueError, "either size or scale_factor"),
    (lambda: loose.Upsample(2, mode="x")(flow.ones(1, 1, 2)), ValueError, "expects mode"),
    (
        lambda: loose.Upsample(2, mode="linear")(flow.ones(1, 1, 2, 2)),
        NotImplementedError,
        "an input of 3 axes",
    ),
    (lambda: loose.Upsample((2, 2))(flow.ones(1, 1, 2)), ValueError, "expects 1 numbers"),
]


@pytest.mark.parametrize(("wrong", "kind", "message"), BAD)
def test_bad_input_is_a_clear_error(wrong: Any, kind: Any, message: str) -> None:
    with raises(kind, message):
        wrong()


def test_control(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dropout that does not make up for what it drops; channels that are dropped in part."""

    def wrong(self: Any, x: Any) -> Any:
        return x * (flow.rand(*x.shape) > self.p).to(x.dtype)

    monkeypatch.setattr(nn.Dropout, "forward", wrong)
    must_fail(test_dropout_drops_the_part_it_should)
    monkeypatch.setattr(nn.Dropout2d, "forward", lambda self, x: wrong(self, x) * 2)
    must_fail(test_dropout_of_channels, 2)
