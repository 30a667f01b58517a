#include "oneflow/graph/passes/dead_nodes.h"

#include <utility>

namespace oneflow {
namespace graph {

namespace {

// For each node, whether an output of the graph, a captured tensor or an argument depends on it.
std::vector<bool> FindLive(const LogicalGraph& graph) {
  std::vector<bool> wanted(graph.buffers().size(), false);  // is read later
  std::vector<bool> named(graph.values().size(), false);
  const auto want = [&](ValueId id) {
    if (id == kNoValue) { return; }
    wanted[static_cast<size_t>(graph.BufferOf(id))] = true;
    named[static_cast<size_t>(id)] = true;
  };
  for (ValueId id : graph.outputs()) { want(id); }
  std::vector<bool> live(graph.nodes().size(), false);
  for (size_t i = graph.nodes().size(); i-- > 0;) {
    const Node& node = graph.nodes()[i];
    if (node.form == Form::kView) {  // stays for whoever prints the graph
      live[i] = named[static_cast<size_t>(node.outputs[0])];
      if (live[i]) { named[static_cast<size_t>(node.inputs[0])] = true; }
      continue;
    }
    for (ValueId id : node.outputs) {
      const BufferId buffer = graph.BufferOf(id);
      const bool outlives = graph.buffer(buffer).kind != Buffer::Kind::kComputed;
      live[i] = live[i] || outlives || wanted[static_cast<size_t>(buffer)];
    }
    if (!live[i]) { continue; }
    for (ValueId id : node.outputs) {
      // Before the node that makes it nobody can want it.
      if (node.form == Form::kFresh) { wanted[static_cast<size_t>(graph.BufferOf(id))] = false; }
      named[static_cast<size_t>(id)] = true;
    }
    for (ValueId id : node.inputs) { want(id); }
  }
  return live;
}

}  // namespace

Maybe<PassResult> EliminateDeadNodes(const LogicalGraph& graph) {
  const std::vector<bool> live = FindLive(graph);
  LogicalGraph result = graph;
  std::vector<Node> kept;
  int64_t fired = 0;
  for (size_t i = 0; i < live.size(); ++i) {
    if (live[i]) {
      kept.push_back(graph.nodes()[i]);
    } else {
      ++fired;
    }
  }
  *result.mutable_nodes() = std::move(kept);
  return PassResult{std::move(result), fired};
}

}  // namespace graph
}  // namespace oneflow
