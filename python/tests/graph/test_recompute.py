"""Results of batch norm that are computed again for the way back: the same bits in less memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.graph.graphs import FunctionGraph, ResidualBlock, assert_equal
from tests.support import must_fail

import oneflow as flow
from oneflow import nn

SIZE = 64


def network(dtype: Any = flow.float32) -> Any:
    flow.manual_seed(1)
    layers = [nn.Conv2d(3, 32, 3, 1, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU(inplace=True)]
    layers += [ResidualBlock(32, 32, 1), ResidualBlock(32, 32, 1), ResidualBlock(32, 48, 2)]
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(48, 10)]
    return nn.Sequential(*layers).to(dtype)


class Train(nn.Graph):
    """A step with SGD."""

    def __init__(self, model: Any, *off: str, amp: bool = False) -> None:
        super().__init__()
        self.model = model
        self.add_optimizer(flow.optim.SGD(model.parameters(), lr=0.01, momentum=0.9))
        self.config.disable_passes(*off)
        self.config.enable_amp(amp)

    def build(self, x: Any, classes: Any) -> Any:
        """Loss, and the gradients of all parameters."""
        loss = nn.functional.cross_entropy(self.model(x).float(), classes)
        loss.backward()
        return loss, [p.grad for p in self.model.parameters()]


def batch(number: int, dtype: Any = flow.float32) -> Any:
    rng = np.random.default_rng(number)
    x = flow.tensor(rng.standard_normal((4, 3, SIZE, SIZE)).astype(np.float32)).to(dtype)
    return x, flow.tensor(rng.integers(0, 10, 4))


def check(*off: str, dtype: Any = flow.float32, amp: bool = False) -> Any:
    """Three steps with the pass and without it; the graph with it."""
    on = Train(network(dtype), *off, amp=amp)
    without = Train(network(dtype), "recompute", *off, amp=amp)
    for number in range(3):
        x, classes = batch(number, dtype)
        assert_equal(on(x, classes), without(x, classes), f"step {number}")
    state, expected = on.model.state_dict(), without.model.state_dict()
    assert_equal(list(state.values()), list(expected.values()), "state")
    assert on.passes()["recompute"] > 0
    assert without.passes()["recompute"] == 0
    assert on.memory()["plan"] < 0.95 * without.memory()["plan"]
    return on


# In any layout, and whatever takes over whose memory.
@pytest.mark.parametrize("off", ["", "blocked_layout", "in_place", "fusion"])
def test_same_bits(off: str) -> None:
    check(*[off] if off else [])


def test_float64() -> None:
    check(dtype=flow.float64)


def test_amp() -> None:
    check(amp=True)


def test_without_other_passes() -> None:
    check("blocked_layout", "common_subexpressions", "fusion", "in_place")


def test_relu_in_place_that_is_no_part_of_the_norm() -> None:
    """What was written since cannot be had again."""
    on = Train(network(), "batch_norm_fusion")
    without = Train(network(), "batch_norm_fusion", "recompute")
    for number in range(2):
        assert_equal(on(*batch(number)), without(*batch(number)), f"step {number}")
    assert on.passes()["recompute"] == 0


def test_what_is_checkpointed_already() -> None:
    """A module that computes everything again itself."""

    def build(checkpoints: bool) -> Any:
        graph = Train(network())
        for block in (graph.model[3], graph.model[4]):
            block.to(nn.graph.GraphModule).activation_checkpointing = checkpoints
        return graph

    x, classes = batch(0)
    kept, again = build(False), build(True)
    again.config.disable_passes("blocked_layout", "recompute")
    kept.config.disable_passes("blocked_layout")
    assert_equal(kept(x, classes), again(x, classes), "checkpoints")


def test_a_graph_without_a_way_back() -> None:
    model = network()
    graph = FunctionGraph(lambda x: model(x))
    graph(batch(0)[0])
    assert graph.passes()["recompute"] == 0


def test_small_arrays_are_kept() -> None:
    on = Train(network())
    x, classes = batch(0)
    on(x[:, :, :8, :8], classes)
    assert on.passes()["recompute"] == 0


def test_control() -> None:
    """A weight that differs in its last bits is seen."""

    def planted() -> None:
        one, other = network(), network()
        other[0].weight.data.mul_(1 + 1e-6)
        x, classes = batch(0)
        assert_equal(Train(one)(x, classes), Train(other)(x, classes), "planted")

    must_fail(planted)
