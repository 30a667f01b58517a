"""The measured process of what graphs cost by themselves: `graph_own_main.py oneflow`."""

from __future__ import annotations

import time
from typing import Any

from bench.harness.process import Reporter, measure_statement
from bench.library import start
from bench.models.cases import Case
from bench.models.task import Task

RESNET = Case("resnet50", 2)
# How far the first loss of the graph may be from the eager one.
TOLERANCE = 1e-4


def time_one_op(library: Any, reporter: Reporter) -> None:
    """A call of a graph of one op."""

    class Square(library.nn.Graph):
        """One op."""

        def build(self, x: Any) -> Any:
            """Its kernel takes some 10 ns for one element, so that the call is all there is."""
            return library.square(x)

    graph, x = Square(), library.tensor([1.5], dtype=library.float32)
    names = {"graph": graph, "x": x}
    timing = measure_statement("graph(x)", names, finish="graph(x).numpy()")
    reporter.report("one_op", timing, check={"value": graph(x).tolist()})


def time_compiling(library: Any, reporter: Reporter) -> None:
    """From the call to what can be run: `build`, passes, kernels and primitives, memory.

    Raises:
        ValueError: the graph's first loss is not the eager one.
    """
    task = Task(library, RESNET, "graph")
    eager = float(task.loss(*task.inputs).item())
    begin = time.perf_counter()
    task.graph.build_graph(*task.inputs)
    seconds = time.perf_counter() - begin
    loss = task.step()
    if not abs(loss - eager) <= TOLERANCE * abs(eager):
        raise ValueError(f"[compile] expects the eager loss {eager}, got {loss} of the graph")
    reporter.report("compile_resnet50", [seconds], check={"loss": loss})


def main() -> None:
    """Times a graph of one op, and how long ResNet-50's step takes to become a graph."""
    library, reporter, _ = start("Times graphs by themselves.")
    time_one_op(library, reporter)
    time_compiling(library, reporter)


if __name__ == "__main__":
    main()
