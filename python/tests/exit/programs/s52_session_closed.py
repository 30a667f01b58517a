"""52: `session.close()` with graphs alive, then `del`; and a graph of the next session."""

import way_out

import oneflow as flow
from oneflow.framework.session_context import GetDefaultSession

graphs = [flow.nn.Graph.trace(lambda x: x + 1) for _ in range(5)]
for graph in graphs:
    graph(flow.ones(100, 100))
GetDefaultSession().close()
try:
    graphs[0](flow.ones(100, 100))
except RuntimeError as error:
    print(str(error).rpartition(" is ")[2], flush=True)
del graph, graphs
after = flow.nn.Graph.trace(lambda x: x * 3)
print(after(flow.ones(2)).sum().item(), flush=True)
way_out.pause()
