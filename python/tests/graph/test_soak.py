"""Many runs, many graphs, many threads: the same values, and flat memory."""

from __future__ import annotations

import gc
import os
import threading
from typing import Any

from tests.graph.graphs import FunctionGraph, assert_close
from tests.support import must_fail, values

import oneflow as flow
from oneflow import nn, optim

RUNS = int(os.environ.get("ONEFLOW_GRAPH_RUNS", "1000"))
_graph = flow._oneflow_internal.graph


class Train(nn.Graph):
    """A small training step."""

    def __init__(self, model: Any, optimizer: Any) -> None:
        super().__init__()
        self.model = model
        self.add_optimizer(optimizer)

    def build(self, x: Any) -> Any:
        """The step."""
        loss = (self.model(x) ** 2).sum()
        loss.backward()
        return loss


def resident() -> int:
    """Bytes of memory that the process has."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def flat(use: Any, warm: int, repeats: int, slack: int) -> None:
    """After some uses, more of them take no more memory."""
    for _ in range(warm):
        use()
    gc.collect()
    before = resident()
    for _ in range(repeats):
        use()
    gc.collect()
    grown = resident() - before
    assert grown < slack, f"{grown} bytes more after {repeats} uses"


def test_a_small_training_graph_many_times() -> None:
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    graph = Train(model, optim.Adam(model.parameters(), lr=1e-3))
    x = flow.randn(4, 8)
    first = values(graph(x)).item()
    flat(lambda: graph(x), RUNS // 10, RUNS, 4 << 20)
    assert values(graph(x)).item() < first


def test_graphs_made_run_and_dropped() -> None:
    def use() -> None:
        model = nn.Linear(64, 64)
        graph = Train(model, optim.SGD(model.parameters(), lr=0.1, momentum=0.9))
        graph(flow.ones(2, 64))
        del graph
        flow._oneflow_internal.sync()

    flat(use, 50, 100, 8 << 20)
    gc.collect()
    for _ in range(1000):
        if _graph.num_graphs() == 0:
            return
        threading.Event().wait(0.01)
    raise AssertionError(f"{_graph.num_graphs()} graphs are left")


def test_graphs_in_cycles_are_collected() -> None:
    def use() -> None:
        graph = FunctionGraph(lambda x: x + 1)
        graph(flow.ones(2))
        graph.itself = graph

    before = _graph.num_graphs()
    for _ in range(20):
        use()
    gc.collect()
    for _ in range(1000):
        if _graph.num_graphs() <= before:
            return
        threading.Event().wait(0.01)
    raise AssertionError(f"{_graph.num_graphs()} graphs are left")


def test_forty_threads_each_with_a_graph() -> None:
    failures: list[Any] = []

    def work(number: int) -> None:
        try:
            own, other = nn.Linear(4, 4), nn.Linear(4, 4)
            other.load_state_dict(own.state_dict())
            one, two = (optim.Adam(m.parameters(), lr=0.1) for m in (own, other))
            graph = Train(other, two)
            for step in range(10):
                x = flow.full((2, 4), float(number + step))
                one.zero_grad(set_to_none=True)
                loss = (own(x) ** 2).sum()
                loss.backward()
                one.step()
                assert_close(graph(x), loss.detach(), "", 1e-4)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(200)
    assert not failures, failures[0]
    assert not any(thread.is_alive() for thread in threads)


def test_control() -> None:
    kept: list[Any] = []
    must_fail(flat, lambda: kept.append(bytearray(1 << 20)), 1, 40, 8 << 20)
