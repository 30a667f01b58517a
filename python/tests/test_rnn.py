"""Recurrent modules and packed sequences: against steps by hand, and against each other."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from tests.support import must_fail, raises, same, values

import oneflow as flow
from oneflow import nn

R: Any = nn.utils.rnn


def draw(*shape: int, seed: int = 0) -> Any:
    """Numbers to compute with."""
    return flow.tensor(np.random.default_rng(seed).standard_normal(shape))


def module(kind: str, *args: Any, **kwargs: Any) -> Any:
    """A recurrent module in float64, with parameters that do not depend on the generator."""
    layer = getattr(nn, kind)(*args, **kwargs).double()
    for i, weight in enumerate(layer.parameters()):
        weight.data = draw(*weight.shape, seed=i + 1) * 0.5
    return layer


def sigmoid(x: np.ndarray) -> np.ndarray:
    """The logistic function."""
    return np.asarray(1 / (1 + np.exp(-x)))


def lstm_by_hand(layer: Any, x: np.ndarray, suffix: str = "_l0") -> np.ndarray:
    """One layer, one direction, from zero states; with projection where there is one."""
    w = {n: values(p) for n, p in layer.named_parameters()}
    state = np.zeros((x.shape[1], w["weight_hh" + suffix].shape[1]))
    cell = np.zeros((x.shape[1], layer.hidden_size))
    out = []
    for step in x:
        gates = step @ w["weight_ih" + suffix].T + state @ w["weight_hh" + suffix].T
        if layer.bias:
            gates = gates + w["bias_ih" + suffix] + w["bias_hh" + suffix]
        i, f, g, o = np.split(gates, 4, axis=1)
        cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
        state = sigmoid(o) * np.tanh(cell)
        if layer.proj_size:
            state = state @ w["weight_hr" + suffix].T
        out.append(state)
    return np.stack(out)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("proj_size", [0, 2])
def test_lstm_by_hand(bias: bool, proj_size: int) -> None:
    layer = module("LSTM", 3, 4, bias=bias, proj_size=proj_size)
    x = draw(5, 2, 3)
    output, (hn, cn) = layer(x)
    expected = lstm_by_hand(layer, values(x))
    same(output, expected, 1e-12)
    same(hn[0], expected[-1], 1e-12)
    assert tuple(cn.shape) == (1, 2, 4)


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_directions_and_layers_are_those_of_single_layers(kind: str) -> None:
    """Layer 1 of a bidirectional stack takes both directions of layer 0."""
    stack = module(kind, 3, 4, 2, bidirectional=True)
    x = draw(5, 2, 3)

    def single(layer: int, suffix: str, value: Any) -> Any:
        one = module(kind, value.shape[2], 4)
        for name, _ in list(one.named_parameters()):
            weight = getattr(stack, name.replace("_l0", f"_l{layer}{suffix}"))
            getattr(one, name).data = weight.data
        return one(value.flip([0]))[0].flip([0]) if suffix else one(value)[0]

    value = x
    for layer in range(2):
        value = flow.cat([single(layer, "", value), single(layer, "_reverse", value)], 2)
    same(stack(x)[0], values(value), 1e-12)


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_batch_first_unbatched_and_cells(kind: str) -> None:
    layer = module(kind, 3, 4)
    x = draw(5, 2, 3)
    output, hn = layer(x)
    first = module(kind, 3, 4, batch_first=True)
    same(first(x.transpose(0, 1))[0], values(output).swapaxes(0, 1), 1e-12)
    one, last = layer(x[:, 0])
    same(one, values(output)[:, 0], 1e-12)
    state, whole = (last[0], hn[0]) if kind == "LSTM" else (last, hn)
    same(state, values(whole)[:, 0], 1e-12)
    cell = module(kind + "Cell", 3, 4)
    now: Any = None
    for step in range(5):
        now = cell(x[step], now)
    same(now[0] if kind == "LSTM" else now, values(output)[-1], 1e-12)
    alone = cell(x[0, 0])
    same(alone[0] if kind == "LSTM" else alone, values(output)[0, 0], 1e-12)


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("proj_size", [0, 2])
def test_packed_sequences_are_sequences_by_themselves(kind: str, proj_size: int) -> None:
    extra = {"proj_size": proj_size} if kind == "LSTM" else {}
    layer = module(kind, 3, 4, 2, bidirectional=True, **extra)
    items = [draw(n, 3, seed=n) for n in (2, 5, 3)]
    packed = R.pack_sequence(items, enforce_sorted=False)
    output, hn = layer(packed)
    pieces = R.unpack_sequence(output)
    last = hn[0] if kind == "LSTM" else hn
    for i, item in enumerate(items):
        alone, state = layer(item)
        same(pieces[i], values(alone), 1e-12)
        same(last[:, i], values(state[0] if kind == "LSTM" else state), 1e-12)


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_float32_and_low_precision(kind: str) -> None:
    layer = module(kind, 3, 4)
    x = draw(5, 2, 3)
    expected = values(layer(x)[0])
    same(layer.float()(x.float())[0], expected, 1e-5)
    beside = layer(x.to(flow.bfloat16))[0]  # parameters stay float32
    assert beside.dtype == flow.bfloat16
    assert np.abs(values(beside.float()) - expected).max() < 0.1
    low = layer.to(flow.bfloat16)(x.to(flow.bfloat16))[0]
    assert low.dtype == flow.bfloat16
    assert np.abs(values(low.float()) - expected).max() < 0.1


def test_dropout_works_between_layers_in_training_only() -> None:
    layer = module("GRU", 3, 64, 2, dropout=0.5)
    x = draw(2, 1, 3)
    flow.manual_seed(0)
    first = values(layer(x)[0])
    assert (first != values(layer(x)[0])).any()
    layer.eval()
    same(layer(x)[0], values(layer(x)[0]), 0)
    nothing = module("GRU", 3, 4, 2, dropout=1.0)
    bare = module("GRU", 3, 4, 2)
    bare.weight_ih_l1.data = flow.zeros_like(bare.weight_ih_l1)
    same(nothing(x)[0], values(bare(x)[0]), 1e-12)


def test_training_reduces_a_loss() -> None:
    layer, head = module("LSTM", 2, 8), nn.Linear(8, 1).double()
    x, goal = draw(6, 4, 2), draw(4, 1, seed=9)
    losses = []
    for _ in range(30):
        error = head(layer(x)[0][-1]) - goal
        loss = (error * error).mean()
        loss.backward()
        losses.append(loss.item())
        for weight in [*layer.parameters(), *head.parameters()]:
            weight.data = weight.data - 0.1 * weight.grad
            weight.grad = None
    assert losses[-1] < 0.5 * losses[0]


def test_parameters_state_and_repr() -> None:
    layer = nn.LSTM(3, 4, num_layers=2, bidirectional=True, proj_size=2)
    names = list(layer.state_dict())
    assert names[:5] == ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0", "weight_hr_l0"]
    assert names[5] == "weight_ih_l0_reverse"
    assert tuple(layer.weight_ih_l1.shape) == (16, 4)
    assert [len(part) for part in layer.all_weights] == [5] * 4
    assert np.abs(values(layer.weight_ih_l0)).max() <= 0.5
    assert repr(layer) == "LSTM(3, 4, proj_size=2, num_layers=2, bidirectional=True)"
    assert repr(nn.RNNCell(1, 2, False, "relu")) == "RNNCell(1, 2, bias=False, nonlinearity=relu)"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        nn.GRU(1, 1, dropout=0.5)
    assert "one layer" in str(caught[0].message)


def test_padding() -> None:
    items = [draw(3, 2), draw(1, 2)]
    padded = R.pad_sequence(items, padding_value=7.0)
    assert tuple(padded.shape) == (3, 2, 2)
    assert (values(padded)[1:, 1] == 7).all()
    for got, want in zip(R.unpad_sequence(padded, [3, 1]), items):
        same(got, values(want), 0)
    packed = R.pack_padded_sequence(padded, flow.tensor([3, 1]))
    back, lengths = R.pad_packed_sequence(packed, padding_value=7.0, total_length=4)
    same(back[:3], values(padded), 0)
    assert (values(back)[3] == 7).all()
    assert lengths.tolist() == [3, 1]
    assert packed.to(flow.float32).data.dtype == flow.float32
    assert packed.double() is packed


def test_gradients_reach_packed_rows() -> None:
    x = draw(3, 2, 2)
    x.requires_grad = True
    R.pack_padded_sequence(x, [3, 1]).data.sum().backward()
    expected = np.ones((3, 2, 2))
    expected[1:, 1] = 0
    same(x.grad, expected, 0)


def test_wrong_arguments() -> None:
    with raises(ValueError, r"\[RNNBase\] .*dropout"):
        nn.GRU(1, 2, 2, dropout=1.5)
    with raises(ValueError, r"proj_size"):
        nn.LSTM(1, 2, proj_size=2)
    with raises(ValueError, r"proj_size"):
        nn.RNN(1, 2, proj_size=1)
    with raises(ValueError, r"tanh or relu"):
        nn.RNN(1, 2, nonlinearity="sin")
    layer = nn.LSTM(3, 4)
    with raises(RuntimeError, r"input_size = 3, got \(5, 1, 2\)"):
        layer(flow.ones(5, 1, 2))
    with raises(RuntimeError, r"a first state \(1, 2, 4\)"):
        layer(flow.ones(5, 2, 3), (flow.ones(1, 1, 4), flow.ones(1, 2, 4)))
    with raises(RuntimeError, r"states of 3 dims, got"):
        layer(flow.ones(5, 2, 3), (flow.ones(1, 4), flow.ones(1, 4)))
    with raises(RuntimeError, r"1 or 2 dims"):
        nn.GRUCell(1, 2)(flow.ones(1, 1, 1))
    with raises(RuntimeError, r"never grow"):
        R.pack_padded_sequence(flow.ones(3, 2), [1, 3])
    with raises(ValueError, r"total_length"):
        R.pad_packed_sequence(R.pack_sequence([flow.ones(3)]), total_length=2)


def test_control(monkeypatch: pytest.MonkeyPatch) -> None:
    """An LSTM that gives its steps in the wrong order."""
    right = nn.LSTM.forward

    def wrong(self: Any, *args: Any) -> Any:
        output, states = right(self, *args)
        return output.flip([0]), states

    monkeypatch.setattr(nn.LSTM, "forward", wrong)
    must_fail(test_lstm_by_hand, True, 0)
