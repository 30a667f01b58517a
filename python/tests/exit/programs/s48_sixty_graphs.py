"""48: sixty graphs, each with a run that nobody reads."""

import way_out

import oneflow as flow

layers = [flow.nn.Linear(16, 16) for _ in range(60)]
graphs = [flow.nn.Graph.trace(layer.forward) for layer in layers]
for graph in graphs:
    graph(flow.ones(4, 16))
print(flow._oneflow_internal.graph.num_graphs(), flush=True)
way_out.pause()
