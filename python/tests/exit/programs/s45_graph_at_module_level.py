"""45: a graph made and run where the module is executed; it is alive when Python ends."""

from typing import Any

import way_out

import oneflow as flow

layer = flow.nn.Linear(3, 8, False)
flow.nn.init.constant_(layer.weight, 2.0)


class LinearGraph(flow.nn.Graph):
    """The layer, as a graph."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = layer

    def build(self, x: Any) -> Any:
        """Calls it."""
        return self.layer(x)


graph = LinearGraph()
if way_out.case() == "unread":
    for _ in range(100):
        graph(flow.ones(8, 3))
else:
    print(graph(flow.ones(8, 3)).sum().item(), flush=True)
way_out.pause()
