"""The measured process of what graphs cost by themselves: `graph_own_main.py oneflow`."""

from __future__ import annotations

from typing import Any

from bench.harness.process import measure_statement
from bench.library import start


def main() -> None:
    """Times a graph of one op, and how long ResNet-50's step takes to become a graph."""
    library, reporter, _ = start("Times graphs by themselves.")

    class Square(library.nn.Graph):  # type: ignore[name-defined]
        """One op."""

        def build(self, x: Any) -> Any:
            """Its kernel takes some 10 ns for one element, so that the call is all there is."""
            return library.square(x)

    graph, x = Square(), library.tensor([1.5], dtype=library.float32)
    names = {"graph": graph, "x": x}
    timing = measure_statement("graph(x)", names, finish="graph(x).numpy()")
    reporter.report("one_op", timing, check={"value": graph(x).tolist()})


if __name__ == "__main__":
    main()
