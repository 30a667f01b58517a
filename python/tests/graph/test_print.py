"""print(graph), debug, the counts of passes, memory, blocks and proxies."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from typing import Any

import pytest
from tests.graph.graphs import FunctionGraph
from tests.support import must_fail, raises, values

import oneflow as flow
from oneflow import nn, optim
from oneflow.nn.graph import GraphModule, GraphTensor, Proxy
from oneflow.nn.graph.util import flatten, unflatten


class Net(nn.Graph):
    """A graph with a module in a module."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
        self.add_optimizer(optim.SGD(self.net.parameters(), lr=0.1))

    def build(self, x: Any) -> Any:
        """A step."""
        loss = flow.tanh(self.net(x)).sum()
        loss.backward()
        return loss


def line_in_build(text: str) -> int:
    lines, first = inspect.getsourcelines(Net.build)
    return first + next(i for i, line in enumerate(lines) if text in line)


def test_names_count_for_each_class() -> None:
    class Named(nn.Graph):
        """Nothing."""

    assert [Named().name, Named().name] == ["Named_0", "Named_1"]


def test_print_before_the_first_call() -> None:
    text = repr(Net())
    for word in (
        "training=True",
        "MODULE:net.0:Linear(in_features=3, out_features=4, bias=True)",
        "PARAMETER:net.0.weight:tensor(shape=(4, 3), dtype=float32",
        "BUFFER:net.1.running_mean",
        "SGD",
    ):
        assert word in text


def test_print_shows_ops_with_shapes_and_lines() -> None:
    graph = Net()
    graph(flow.randn(5, 3))
    text = str(graph)
    assert "INPUT:0:tensor(shape=(5, 3)" in text and "OUTPUT:0:tensor(shape=()" in text
    traced = graph._graph_proto
    for word in ("net.0.weight", "(5, 4)", "tanh", "test_print.py", "in build"):
        assert word in traced, word
    assert f"line {line_in_build('loss = flow.tanh')}" in traced or (
        f":{line_in_build('loss = flow.tanh')}" in traced
    )
    assert "multi_tensor_sgd_update" in text


def test_nothing_to_say_before_it_was_called() -> None:
    graph = Net()
    assert not graph.is_compiled and graph.training
    for call in (graph.passes, graph.memory):
        with raises(RuntimeError, "expects a graph that was called", graph.name):
            call()
    graph._compile(flow.randn(5, 3))
    assert graph.is_compiled


def test_passes_fire_and_can_be_turned_off() -> None:
    def build(x: Any) -> Any:
        y = (x + 1) * (x + 1)
        _unused = x * 5
        return y * (flow.ones(2) + flow.ones(2))

    on, off = FunctionGraph(build), FunctionGraph(build, passes=False)
    on(flow.ones(50_000, 2)), off(flow.ones(50_000, 2))
    fired, none = on.passes(), off.passes()
    assert fired["common_subexpressions"] == 1
    assert fired["dead_nodes"] >= 1 and fired["constant_folding"] >= 1 and fired["fusion"] >= 1
    for name in ("common_subexpressions", "dead_nodes", "constant_folding", "fusion", "in_place"):
        assert none.get(name, 0) == 0


def test_a_setting_made_later_is_followed() -> None:
    graph = FunctionGraph(lambda x: (x + 1) * (x + 1))
    graph(flow.ones(2))
    assert graph.passes()["common_subexpressions"] == 1
    graph.config.disable_passes("common_subexpressions")
    graph(flow.ones(2))
    assert graph.passes().get("common_subexpressions", 0) == 0
    with raises((RuntimeError, ValueError), "nonsense"):
        graph.config.disable_passes("nonsense")
        graph(flow.ones(2))


def test_memory_of_a_chain_is_less_than_all_its_values() -> None:
    def build(x: Any) -> Any:
        for _ in range(20):
            x = x @ x
        return x

    graph = FunctionGraph(build)
    graph(flow.eye(64))
    memory, one = graph.memory(), 64 * 64 * 4
    assert 0 < memory["lower_bound"] <= memory["peak"] <= memory["plan"] <= 4 * one


def test_memory_of_kernels_lies_where_no_value_is_alive() -> None:
    x, weight = flow.randn(2, 8, 32, 32), flow.randn(16, 8, 3, 3)

    def convolve(x: Any) -> Any:
        return flow.nn.functional.conv2d(x, weight, padding=1)

    def spread(x: Any) -> Any:
        y = convolve(x)
        parts = [
            y.roll(i, 3) for i in range(1, 9)
        ]  # many values at one time, long after its scratch
        return flow.cat(parts, 1).sum(1)

    alone, later = FunctionGraph(convolve), FunctionGraph(spread)
    alone(x)
    assert alone.memory()["scratch"] > 0
    assert flow.equal(later(x), spread(x))
    memory = later.memory()
    assert memory["scratch"] == 0 and memory["plan"] == memory["peak"] >= memory["lower_bound"]


def test_debug_levels(capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    for level in (-1, 0, 1, 2, 3):
        graph = Net()
        graph.debug(level)
        graph(flow.randn(5, 3))
        graph(flow.randn(5, 3))
        said.append(capsys.readouterr().out)
        assert graph.net.to(GraphModule)._debug == (level >= 0)
    assert said[0] == ""
    assert said[1].count("tracing starts") == 1 and "compiled in" in said[1]
    assert "state net.0.weight: tensor(shape=(4, 3)" in said[2] and "input_0" in said[2]
    assert "tanh" in said[3] and "test_print.py" in said[3]
    assert "passes {" in said[4] and "memory {" in said[4]


def test_only_the_chosen_rank_prints() -> None:
    program = (
        "import oneflow as flow\n"
        "g = flow.nn.Graph.trace(lambda x: x + 1)\n"
        "g.debug(0, ranks=[0])\n"
        "print(g(flow.ones(1)).item(), g(flow.ones(2)).sum().item())\n"
    )
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "RANK": "1",
               "WORLD_SIZE": "2"}  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", program], env=environ, capture_output=True, text=True, timeout=100
    )
    first, second = done.stdout.splitlines()
    assert "rank 1 prints nothing" in first and second == "2.0 4.0" and not done.stderr


def test_wrong_levels_and_ranks() -> None:
    graph = Net()
    with raises(TypeError, "Graph.debug", "v_level", "'1'"):
        graph.debug("1")  # type: ignore[arg-type]
    with raises(ValueError, "Graph.debug", "list of ints"):
        graph.debug(0, ranks=["a"])  # type: ignore[list-item]


# Proxies and blocks.


def test_what_is_behind_a_proxy() -> None:
    graph = Net()
    net, weight = graph.net, graph.net[0].weight
    assert isinstance(net, Proxy) and isinstance(weight, Proxy) and isinstance(net[0], Proxy)
    assert net.to(GraphModule).type == "MODULE" and net.to(GraphModule).name == "net"
    assert net[0].to(GraphModule).name_prefix == "net." and net[0].to(GraphModule).name == "0"
    assert weight.to(GraphTensor).type == "PARAMETER"
    assert net[1].running_mean.to(GraphTensor).type == "BUFFER"
    assert isinstance(net.to(nn.Module), nn.Sequential)
    assert isinstance(weight.to(flow.Tensor), nn.Parameter)
    assert net is graph.net and net[0].out_features == 4 and len(net) == 2
    assert [type(part).__name__ for part in net] == ["ProxyModule", "ProxyModule"]
    net[0].to(GraphModule)._is_executing_forward = True
    assert isinstance(net[0].weight, flow.Tensor)


def test_containers_as_proxies() -> None:
    class Containers(nn.Graph):
        """All kinds."""

        def __init__(self) -> None:
            super().__init__()
            self.modules = nn.ModuleDict({"a": nn.Linear(2, 2), "b": nn.ReLU()})
            self.listed = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])
            self.numbers = nn.ParameterList([nn.Parameter(flow.ones(2))])
            self.named = nn.ParameterDict({"w": nn.Parameter(flow.ones(2))})

        def build(self, x: Any) -> Any:
            for layer in self.listed[1:]:
                x = layer(x)
            for name, module in self.modules.items():
                x = module(x) if name in self.modules else x
            return x + self.numbers[0] + self.named["w"]

    graph = Containers()
    x = flow.randn(3, 2)
    want = graph.listed[1](x)
    want = nn.functional.relu(graph.modules["a"](want)) + 2
    assert abs(values(graph(x)) - values(want)).max() < 1e-6
    assert list(graph.modules) == ["a", "b"] and len(graph.modules.values()) == 2
    assert type(graph.numbers[0]).__name__ == type(graph.named["w"]).__name__ == "ProxyTensor"


def test_setting_an_attribute_of_a_proxy_sets_it_on_the_module() -> None:
    graph = Net()
    graph.net.extra = 5
    assert graph.net.to(nn.Module).extra == 5 and graph.net.extra == 5
    del graph.net.extra
    assert not hasattr(graph.net, "extra")
    with raises(AttributeError, "nothing"):
        _ = graph.net.nothing


def test_stages_are_remembered_and_shown() -> None:
    graph = Net()
    graph.net[0].to(GraphModule).set_stage(1)
    graph.net.to(GraphModule).activation_checkpointing = True
    text = repr(graph)
    assert "(stage_id=1)" in text and "(activation_checkpointing=True)" in text


def test_structures() -> None:
    value = ({"a": [flow.ones(1), None]}, (2, flow.zeros(2)))
    leaves: list[Any] = []
    form = flatten(value, leaves, "a test")
    assert len(leaves) == 2 and hash(form) == hash(flatten(value, [], "a test"))
    back = unflatten(form, iter(leaves))
    assert back[0]["a"][0] is leaves[0] and back[1] == (2, leaves[1])


def test_control() -> None:
    def check() -> None:
        assert "no such line" in repr(Net())

    must_fail(check)
