"""The same outside of unittest: a graph made, run and compared where the module is executed."""

import numpy as np
from test_graph_session_env_destruct import prepared

for x, eager, graph in prepared.values():
    assert np.array_equal(graph(x).numpy(), eager.numpy())
print("equal", flush=True)
