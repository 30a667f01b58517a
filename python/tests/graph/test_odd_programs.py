"""Graphs as somebody writes them who has not read how they work."""

from __future__ import annotations

import threading
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from tests.graph.graphs import FunctionGraph, assert_equal
from tests.support import must_fail, raises, values

import oneflow as flow
from oneflow import nn


def numbers(*shape: int) -> Any:
    """0, 1, 2, ..."""
    return flow.arange(int(np.prod(shape))).float().reshape(*shape)


def test_defaultdicts_keep_what_makes_their_items() -> None:
    def build(given: Any) -> Any:
        return defaultdict(list, {"twice": [t * 2 for t in given["x"]]})

    given: Any = defaultdict(list)
    given["x"].append(numbers(3))
    graph = FunctionGraph(build)
    for _ in range(2):
        result = graph(given)
        assert type(result) is defaultdict and result.default_factory is list
        assert values(result["twice"][0]).tolist() == [0, 2, 4]
    assert len(graph._graphs) == 1
    other: Any = defaultdict(None, given)
    assert values(graph(other)["twice"][0]).tolist() == [0, 2, 4]
    assert len(graph._graphs) == 2  # for `build` another argument


@pytest.mark.parametrize("given", [np.ones(3), np.float32(2)])
def test_arrays_as_arguments_are_told_what_to_become(given: Any) -> None:
    with raises(TypeError, type(given).__name__, "make a tensor of it", "from_numpy"):
        FunctionGraph(lambda x: x)(given)


def test_a_module_that_is_no_attribute_follows_train_and_eval() -> None:
    dropout = nn.Dropout(0.5)
    model = nn.Sequential(nn.Linear(4, 4, bias=False), dropout)
    nn.init.ones_(model[0].weight)
    graph = nn.Graph.trace(lambda x: model(x))
    x = flow.ones(64, 4)
    trained = set(values(graph(x)).ravel().tolist())
    assert trained == {0.0, 8.0}
    model.eval()
    assert set(values(graph(x)).ravel().tolist()) == {4.0}
    model.train()
    assert set(values(graph(x)).ravel().tolist()) == trained
    dropout.eval()
    assert set(values(graph(x)).ravel().tolist()) == {4.0}
    assert len(graph._graphs) == 3  # each is kept: nothing is traced again
    model.eval()
    graph(x), graph(x)
    assert len(graph._graphs) == 3


def test_modules_in_a_plain_list() -> None:
    class Listed(nn.Graph):
        def __init__(self) -> None:
            super().__init__()
            self.parts = [nn.Dropout(0.5), nn.ReLU()]

        def build(self, x: Any) -> Any:
            for part in self.parts:
                x = part(x)
            return x

    graph, x = Listed(), flow.ones(100)
    assert set(values(graph(x)).tolist()) == {0.0, 2.0}
    graph.parts[0].eval()
    assert set(values(graph(x)).tolist()) == {1.0}


def test_calls_of_modules_are_as_before_after_a_trace() -> None:
    usual = nn.Module.__call__
    fails = FunctionGraph(lambda x: nn.ReLU()(x) + "text")
    with pytest.raises(TypeError):
        fails(flow.ones(1))
    assert nn.Module.__call__ is usual
    FunctionGraph(lambda x: nn.ReLU()(x))(flow.ones(1))
    assert nn.Module.__call__ is usual


def test_modules_are_called_elsewhere_during_a_trace() -> None:
    """Another thread's calls meanwhile are its own matter."""
    outside, inside, go, done = nn.ReLU(), nn.ReLU(), threading.Event(), threading.Event()
    found: list[Any] = []

    def work() -> None:
        go.wait(10)
        found.append(values(outside(flow.ones(2))).tolist())
        done.set()

    thread = threading.Thread(target=work)
    thread.start()

    def build(x: Any) -> Any:
        go.set()
        done.wait(10)
        return inside(x)

    graph = FunctionGraph(build)
    graph(flow.ones(1))
    thread.join()
    assert found == [[1.0, 1.0]]
    assert list(graph._blocks._called.values()) == [inside]


@pytest.mark.parametrize("make", [flow.optim.SGD, flow.optim.Adam])
def test_a_step_in_build_is_refused(make: Any) -> None:
    model = nn.Linear(3, 2)
    before = model.weight.detach().clone()
    optimizer = make(model.parameters(), lr=0.1)

    def build(x: Any) -> Any:
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        return loss

    with raises(RuntimeError, make.__name__, "no step", "add_optimizer"):
        FunctionGraph(build)(numbers(2, 3))
    assert_equal(model.weight.detach(), before)
    # Eager code goes on.
    model(numbers(2, 3)).sum().backward()
    optimizer.step()
    must_fail(lambda: assert_equal(model.weight.detach(), before))


def test_a_scheduler_stepped_in_build_is_refused() -> None:
    optimizer = flow.optim.SGD(nn.Linear(1, 1).parameters(), lr=1.0)
    scheduler = flow.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    with raises(RuntimeError, "StepLR", "no step", "lr_sch"):
        FunctionGraph(lambda x: scheduler.step())(flow.ones(1))
    assert optimizer.param_groups[0]["lr"] == 1.0


@pytest.mark.parametrize(
    "build", [lambda x: x[x > 1], lambda x: flow.nonzero(x), lambda x: flow.masked_select(x, x > 1)]
)
def test_masks_say_that_shapes_depend_on_data(build: Any) -> None:
    graph = FunctionGraph(build)
    with raises(RuntimeError, f"graph {graph.name!r}", "shape of the result depends on data"):
        graph(numbers(2, 3))


def test_a_chain_of_runs() -> None:
    graph = FunctionGraph(lambda x: x * 0.5 + 1)
    x, want = numbers(2, 3), numbers(2, 3)
    for _ in range(50):
        x, want = graph(x), want * 0.5 + 1
    assert_equal(x, want)


def test_what_is_an_argument_and_captured_at_once() -> None:
    """A run reads what there was before it, and leaves the update."""
    state = flow.ones(3)

    def build(x: Any) -> Any:
        before = x * 2
        state.add_(1)
        return before, state * 1

    graph = FunctionGraph(build)
    for run in (1.0, 2.0, 3.0):
        before, after = graph(state)
        assert values(before).tolist() == [2 * run] * 3
        assert values(after).tolist() == [run + 1] * 3
    assert values(state).tolist() == [4.0] * 3


def test_one_argument_twice_and_its_part() -> None:
    def build(x: Any, y: Any, row: Any) -> Any:
        x.add_(1)
        return x + y, row.clone()

    x = numbers(2, 3)
    both, row = FunctionGraph(build)(x, x, x[1])
    assert values(both).tolist() == [[1, 3, 5], [7, 9, 11]]
    assert values(row).tolist() == [3, 4, 5]
    assert values(x).ravel().tolist() == [0, 1, 2, 3, 4, 5]


def test_one_graph_called_by_several_threads_trains_as_in_turns() -> None:
    model = nn.Linear(1, 1, bias=False)
    nn.init.zeros_(model.weight)

    class Train(nn.Graph):
        def __init__(self) -> None:
            super().__init__()
            self.model = model
            self.add_optimizer(flow.optim.SGD(model.parameters(), lr=1.0))

        def build(self, x: Any) -> Any:
            loss = -self.model(x).sum()
            loss.backward()
            return loss

    graph, x = Train(), flow.ones(1, 1)
    threads = [threading.Thread(target=lambda: [graph(x) for _ in range(50)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert values(model.weight.detach()).item() == 200.0


def test_closed_while_another_thread_calls_it() -> None:
    graph = FunctionGraph(lambda x: x + 1)
    graph(flow.ones(4))
    errors: list[str] = []

    def work() -> None:
        try:
            while True:
                graph(flow.ones(4))
        except RuntimeError as error:
            errors.append(str(error))

    thread = threading.Thread(target=work)
    thread.start()
    graph.close()
    thread.join(20)
    assert not thread.is_alive() and errors == [f"graph {graph.name!r} is closed"]


def test_control() -> None:
    """A graph that took no notice of eval() would be seen."""
    model = nn.Dropout(0.5)
    graph = FunctionGraph(lambda x: model(x))
    x = flow.ones(100)
    graph(x)
    made = graph._latest
    assert made is not None
    model.eval()
    must_fail(lambda: assert_equal(made.run([x]), x))
