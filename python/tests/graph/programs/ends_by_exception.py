"""A graph that ran, and then an exception that nobody catches."""

import test_graph_session_env_destruct

for x, _, graph in test_graph_session_env_destruct.prepared.values():
    graph(x)
raise ValueError("mine")
