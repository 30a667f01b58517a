"""49: a graph in a reference cycle, with a __del__ beside it that uses it."""

from typing import Any

import way_out

import oneflow as flow


class Holder:
    """Holds a graph, which holds it."""

    def __init__(self) -> None:
        self.graph: Any = flow.nn.Graph.trace(lambda x: x + 1)
        self.graph.holder = self
        self.graph(flow.ones(2))

    def __del__(self) -> None:
        try:
            print("ran", self.graph(flow.ones(2)).sum().item(), flush=True)
        except RuntimeError:
            print("refused", flush=True)


holder = Holder()
if way_out.case() == "collected":
    import gc

    del holder
    gc.collect()
way_out.pause()
