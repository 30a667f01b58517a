"""Static graphs: `Graph`, what its modules are inside it, and its settings."""

from oneflow.nn.graph import graph_block, graph_config, optimizer, proxy, util
from oneflow.nn.graph.graph import Graph
from oneflow.nn.graph.graph_block import GraphModule, GraphTensor
from oneflow.nn.graph.graph_config import GraphConfig
from oneflow.nn.graph.proxy import Proxy

__all__ = [
    "Graph",
    "GraphConfig",
    "GraphModule",
    "GraphTensor",
    "Proxy",
    "graph_block",
    "graph_config",
    "optimizer",
    "proxy",
    "util",
]
