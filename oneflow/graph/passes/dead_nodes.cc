#include "oneflow/graph/passes/dead_nodes.h"

#include <utility>

namespace oneflow {
namespace graph {

namespace {

// For each node, whether an output or an update of the graph depends on it.
std::vector<bool> FindLive(const LogicalGraph& graph) {
  std::vector<bool> used(graph.values().size(), false);
  for (ValueId id : graph.outputs()) { used[static_cast<size_t>(id)] = true; }
  for (const LogicalGraph::Update& update : graph.updates()) {
    used[static_cast<size_t>(update.source)] = true;
  }
  std::vector<bool> live(graph.nodes().size(), false);
  for (size_t i = graph.nodes().size(); i-- > 0;) {
    const Node& node = graph.nodes()[i];
    for (ValueId id : node.outputs) { live[i] = live[i] || used[static_cast<size_t>(id)]; }
    if (!live[i]) { continue; }
    for (ValueId id : node.inputs) {
      if (id != kNoValue) { used[static_cast<size_t>(id)] = true; }
    }
  }
  return live;
}

}  // namespace

Maybe<PassResult> EliminateDeadNodes(const LogicalGraph& graph) {
  const std::vector<bool> live = FindLive(graph);
  int64_t fired = 0;
  Rewriter rewriter;
  rewriter.drop = [&](NodeId id) {
    fired += live[static_cast<size_t>(id)] ? 0 : 1;
    return !live[static_cast<size_t>(id)];
  };
  LogicalGraph copy = CopyWith(graph, rewriter);
  return PassResult{std::move(copy), fired};
}

}  // namespace graph
}  // namespace oneflow
