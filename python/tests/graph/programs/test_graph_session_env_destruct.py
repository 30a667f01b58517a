"""A graph made when the module is imported, run by a test, and alive when Python ends.

Run by `python -m unittest test_graph_session_env_destruct`, and by itself.
"""

import os
import unittest
from typing import Any

import numpy as np

import oneflow as flow
import oneflow.unittest

DEVICES = ["cpu"]
if flow.cuda.is_available() and not os.getenv("ONEFLOW_TEST_CPU_ONLY"):
    DEVICES.append("cuda")

rows = np.random.default_rng(0).standard_normal((8, 3)).astype(np.float32)


class LinearGraph(flow.nn.Graph):
    """The layer, as a graph."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.layer = layer

    def build(self, x: Any) -> Any:
        """Calls it."""
        return self.layer(x)


def prepare(device: Any) -> Any:
    """Input, eager result (checked against NumPy) and graph on a device."""
    layer = flow.nn.Linear(3, 8, False).to(device)
    flow.nn.init.constant_(layer.weight, 2.3)
    x = flow.tensor(rows, device=device)
    eager = layer(x)
    weight = np.full((3, 8), 2.3, dtype=np.float32)
    assert np.allclose(eager.numpy(), rows @ weight, 1e-05, 1e-05)
    return x, eager, LinearGraph(layer)


prepared = {device: prepare(flow.device(device)) for device in DEVICES}


@flow.unittest.skip_unless_1n1d()
class TestLinearGraph(oneflow.unittest.TestCase):
    """The graph gives what eager gave."""

    def test_equal(self) -> None:
        for x, eager, graph in prepared.values():
            assert np.array_equal(graph(x).numpy(), eager.numpy())


if __name__ == "__main__":
    unittest.main()
