"""Whole networks: 20 steps in a graph and eagerly; losses, gradients, parameters, buffers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.graph.graphs import PASSES, assert_close, assert_equal
from tests.models.networks import NETWORKS, lenet, resnet18
from tests.models.training import OPTIMIZERS, data
from tests.support import must_fail

import oneflow as flow
from oneflow import nn

STEPS = 20


class Transformer(nn.Module):
    """Two blocks of attention and a perceptron, norms first.

    Source: Vaswani et al., "Attention is all you need", NeurIPS 2017.
    """

    def __init__(self, width: int = 32, heads: int = 4, words: int = 50) -> None:
        super().__init__()
        self.heads = heads
        self.tokens = nn.Embedding(words, width)
        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(4)])
        self.qkv = nn.ModuleList([nn.Linear(width, 3 * width) for _ in range(2)])
        self.out = nn.ModuleList([nn.Linear(width, width) for _ in range(2)])
        self.up = nn.ModuleList([nn.Linear(width, 4 * width) for _ in range(2)])
        self.down = nn.ModuleList([nn.Linear(4 * width, width) for _ in range(2)])
        self.head = nn.Linear(width, words)

    def forward(self, x: Any) -> Any:
        hidden = self.tokens(x)
        for i in range(2):
            hidden = hidden + self.attention(i, self.norms[2 * i](hidden))
            inner = nn.functional.gelu(self.up[i](self.norms[2 * i + 1](hidden)))
            hidden = hidden + self.down[i](inner)
        return self.head(hidden).reshape(-1, 50)

    def attention(self, i: int, x: Any) -> Any:
        """Softmax of scores, in plain ops."""
        batch, length, width = x.shape
        parts = self.qkv[i](x).reshape(batch, length, 3, self.heads, width // self.heads)
        q, k, v = (parts[:, :, part].transpose(1, 2) for part in range(3))
        scores = flow.matmul(q, k.transpose(-2, -1)) * (width // self.heads) ** -0.5
        mixed = flow.matmul(flow.softmax(scores, -1), v)
        return self.out[i](mixed.transpose(1, 2).reshape(batch, length, width))


MODELS: dict[str, Any] = {
    "lenet": lambda: lenet(flow),
    "resnet18": lambda: resnet18(flow),
    "transformer": Transformer,
    "lstm": lambda: NETWORKS["lstm"](flow),
}


class Train(nn.Graph):
    """A step, which gives the loss and the gradients."""

    def __init__(self, model: Any, optimizer: Any) -> None:
        super().__init__()
        self.model, self.loss = model, nn.CrossEntropyLoss()
        self.add_optimizer(optimizer)

    def build(self, x: Any, classes: Any) -> Any:
        """Loss, and the gradients of all parameters."""
        loss = self.loss(self.model(x), classes)
        loss.backward()
        return loss, [p.grad for p in self.model.parameters()]


def batch(name: str, rng: np.random.Generator, dtype: Any) -> tuple[Any, Any]:
    inputs, classes = data(name, rng)
    whole = np.issubdtype(inputs.dtype, np.integer)
    return flow.tensor(inputs) if whole else flow.tensor(inputs, dtype=dtype), flow.tensor(classes)


def train(name: str, dtype: Any, passes: bool, steps: int = STEPS) -> Any:
    """Steps of both, side by side; the graph."""
    flow.manual_seed(0)
    own, other = MODELS[name]().to(dtype), MODELS[name]().to(dtype)
    other.load_state_dict(own.state_dict())
    one, two = (OPTIMIZERS[name][1](flow, model.parameters()) for model in (own, other))
    graph, rng = Train(other, two), np.random.default_rng(0)
    if not passes:
        graph.config.disable_passes(*PASSES)
    for step in range(steps):
        x, classes = batch(name, rng, dtype)
        one.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(own(x), classes)
        loss.backward()
        gradients = [p.grad for p in own.parameters()]
        got = graph(x, classes)
        what = f"{name}, step {step}"
        if passes:
            assert_close(got, (loss.detach(), gradients), what, 1e-8)
        else:
            assert_equal(got, (loss.detach(), gradients), what)
        one.step()
    got, want = (list(model.state_dict().values()) for model in (other, own))
    (assert_close if passes else assert_equal)(got, want, name)
    return graph


@pytest.mark.parametrize("name", MODELS)
def test_without_passes_to_the_last_bit(name: str) -> None:
    train(name, flow.float32, passes=False)


@pytest.mark.parametrize("name", MODELS)
def test_with_passes_in_float64(name: str) -> None:
    graph = train(name, flow.float64, passes=True)
    fired = graph.passes()
    assert fired["dead_nodes"] >= 0 and sum(fired.values()) > 0
    memory = graph.memory()
    assert memory["lower_bound"] <= memory["peak"] <= 1.25 * memory["lower_bound"]


# How often passes fire in a model, at least. Those in EXACTLY: late_updates for both statistics of
# each batch norm, batch_norm_fusion for each that relu follows, forward and backward.
FIRES = {
    "lenet": {"constant_folding": 1, "in_place": 5},
    "resnet18": {"late_updates": 40, "batch_norm_fusion": 34, "in_place": 1},
    "transformer": {"constant_folding": 1, "in_place": 10},
    "lstm": {"dead_nodes": 1, "constant_folding": 1},
}


EXACTLY = ("late_updates", "batch_norm_fusion")


@pytest.mark.parametrize("name", FIRES)
def test_passes_fire_and_change_nothing_when_off(name: str) -> None:
    def run(*disabled: str) -> tuple[Any, dict[str, int]]:
        flow.manual_seed(0)
        model = MODELS[name]().to(flow.float64)
        graph = Train(model, OPTIMIZERS[name][1](flow, model.parameters()))
        graph.config.disable_passes(*disabled)
        result = graph(*batch(name, np.random.default_rng(0), flow.float64))
        return [result, list(model.parameters())], graph.passes()

    want, fired = run()
    for each, times in FIRES[name].items():
        assert fired[each] == times if each in EXACTLY else fired[each] >= times, fired
        if each == "late_updates":
            continue  # it is what makes a run that fails leave statistics alone: never off
        got, without = run(each)
        assert without.get(each, 0) == 0
        assert_close(got, want, f"{name} without {each}", 1e-9)


def test_control(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model whose trace holds another number than eager's."""

    class Noisy(nn.Module):
        """A layer, and a number from NumPy."""

        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(784, 10)

        def forward(self, x: Any) -> Any:
            return self.layer(x.reshape(8, -1)) * float(np.random.rand())

    monkeypatch.setitem(MODELS, "lenet", Noisy)
    must_fail(train, "lenet", flow.float32, False, 2)
