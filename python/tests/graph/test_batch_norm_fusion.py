"""Batch norm fused with relu and additions: the bits of eager; where it fires, and where not."""

from __future__ import annotations

from typing import Any

import pytest
from tests.graph.graphs import FunctionGraph, ResidualBlock, assert_equal
from tests.support import must_fail

import oneflow as flow
from oneflow import nn


def network() -> Any:
    flow.manual_seed(1)
    entry = [nn.Conv2d(3, 6, 3, 1, 1, bias=False), nn.BatchNorm2d(6), nn.ReLU(inplace=True)]
    return nn.Sequential(*entry, ResidualBlock(6, 6, 1), ResidualBlock(6, 10, 2))


def gradients(model: Any, x: Any) -> Any:
    loss = (model(x) ** 2).mean()
    return loss, flow.autograd.grad(loss, list(model.parameters()))


def fused(function: Any, *args: Any) -> int:
    """How often the pass fires; results are those of eager to the last bit."""
    graph = FunctionGraph(function)
    graph.config.disable_passes("constant_folding", "fusion")
    assert_equal(graph(*args), function(*args))
    return graph.passes()["batch_norm_fusion"]


@pytest.mark.parametrize("dtype", [flow.float32, flow.float64, flow.bfloat16])
def test_residual_blocks(dtype: Any) -> None:
    own, other = network().to(dtype), network().to(dtype)
    graph = FunctionGraph(lambda x: gradients(other, x))
    off = FunctionGraph(lambda x: gradients(other, x))
    off.config.disable_passes("batch_norm_fusion")
    for step in range(3):
        x = flow.randn(4, 3, 9, 11, dtype=dtype)
        assert_equal(graph(x), gradients(own, x), f"step {step}")
    for a, b in zip(other.buffers(), own.buffers()):
        assert_equal(a, b)
    assert graph.passes()["batch_norm_fusion"] == 10  # five norms that relu follows, both ways
    assert_equal(off(x), gradients(own, x), "off")
    assert off.passes()["batch_norm_fusion"] == 0


def test_takes_less_memory() -> None:
    model = network()
    on = FunctionGraph(lambda x: gradients(model, x))
    off = FunctionGraph(lambda x: gradients(model, x))
    off.config.disable_passes("batch_norm_fusion")
    x = flow.randn(4, 3, 32, 32)
    on(x), off(x)
    assert on.memory()["peak"] <= off.memory()["peak"]


def test_where_it_does_not_fire() -> None:
    norm, last, flat = nn.BatchNorm2d(3), nn.BatchNorm1d(4), nn.BatchNorm2d(3)
    flat.eval()
    x = flow.randn(2, 3, 4, 4)

    def build(x: Any) -> Any:
        both = norm(x)
        return (
            both.relu() * both,  # the norm's own result is wanted
            last(x.sum((1, 2))).relu(),  # of two dimensions
            flat(x).relu(),  # with given statistics
            norm(x).relu6(),
            flow.relu(flow.add(norm(x), x, alpha=2)),
        )

    assert fused(build, x) == 0


def test_an_addend_that_is_used_again() -> None:
    norm = nn.BatchNorm2d(3)

    def build(x: Any, past: Any) -> Any:
        y = flow.relu(norm(x) + past)
        return y, past * 2, y.transpose(1, 2).contiguous()

    assert fused(build, flow.randn(2, 3, 5, 5), flow.randn(2, 3, 5, 5)) == 1


def test_under_autocast() -> None:
    """Norms take the convolutions' bfloat16, and keep float32 for their own parameters."""
    own, other = network(), network()
    for model in (own, other):
        model.train()

    def build(model: Any, x: Any) -> Any:
        with flow.autocast("cpu"):
            y = model(x)
            loss = (y.float() ** 2).mean()
        return y, flow.autograd.grad(loss, list(model.parameters()))

    graph = FunctionGraph(lambda x: build(other, x))
    for step in range(2):
        x = flow.randn(4, 3, 9, 11)
        got = graph(x)
        assert got[0].dtype == flow.bfloat16
        assert_equal(got, build(own, x), f"step {step}")
    for a, b in zip(other.buffers(), own.buffers()):
        assert_equal(a, b)
    assert graph.passes()["batch_norm_fusion"] == 10


def test_a_float16_norm_stays_as_it_is() -> None:
    norm = nn.BatchNorm2d(3).to(flow.float16)
    assert fused(lambda x: norm(x).relu(), flow.randn(2, 3, 5, 5).to(flow.float16)) == 0


def test_is_printed_with_the_line_of_the_norm(capsys: pytest.CaptureFixture[str]) -> None:
    norm = nn.BatchNorm2d(3)

    def build(x: Any) -> Any:
        y = norm(x)
        return y.relu()

    graph = FunctionGraph(build)
    graph.debug(3)
    graph(flow.randn(2, 3, 5, 5))
    after = capsys.readouterr().out.split("fused_batch_norm(")[1]
    line = build.__code__.co_firstlineno + 1
    assert f"test_batch_norm_fusion.py:{line} in build" in after.splitlines()[0]


def test_control() -> None:
    """A result off by one unit is seen."""
    norm = nn.BatchNorm2d(3)
    calls = [0.0]

    def build(x: Any) -> Any:
        calls[0] += 1e-3
        return norm(x).relu() + calls[0]

    def check() -> None:
        fused(build, flow.randn(2, 3, 5, 5))

    must_fail(check)
