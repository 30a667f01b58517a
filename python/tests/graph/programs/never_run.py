"""A graph made where the module is executed, and never run."""

import test_graph_session_env_destruct

assert test_graph_session_env_destruct.prepared
print("made", flush=True)
