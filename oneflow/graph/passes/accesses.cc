#include "oneflow/graph/passes/accesses.h"

namespace oneflow {
namespace graph {

Accesses::Accesses(const LogicalGraph& graph, const std::vector<bool>& removed)
    : graph_(graph), of_(graph.buffers().size()), output_(graph.buffers().size(), false) {
  const auto end = static_cast<NodeId>(graph.nodes().size());
  for (NodeId id = 0; id < end; ++id) {
    const Node& node = graph.node(id);
    if (node.form == Form::kView || removed[static_cast<size_t>(id)]) { continue; }
    for (ValueId input : node.inputs) {
      if (input == kNoValue) { continue; }
      of_[static_cast<size_t>(graph.BufferOf(input))].push_back({id, false});
    }
    for (ValueId output : node.outputs) {
      of_[static_cast<size_t>(graph.BufferOf(output))].push_back({id, true});
    }
  }
  for (ValueId id : graph.outputs()) { output_[static_cast<size_t>(graph.BufferOf(id))] = true; }
}

NodeId Accesses::LastBefore(ValueId id, NodeId node) const {
  NodeId found = -1;
  for (const Access& access : Of(id)) {
    if (access.node < node) { found = access.node; }
  }
  return found;
}

NodeId Accesses::FirstAfter(ValueId id, NodeId node) const {
  for (const Access& access : Of(id)) {
    if (access.node > node) { return access.node; }
  }
  return -1;
}

bool Accesses::UsedBetween(ValueId id, NodeId begin, NodeId end) const {
  if (id == kNoValue) { return false; }
  for (const Access& access : Of(id)) {
    if (access.node > begin && access.node < end) { return true; }
  }
  return false;
}

bool Accesses::WrittenBetween(ValueId id, NodeId begin, NodeId end) const {
  if (id == kNoValue) { return false; }
  for (const Access& access : Of(id)) {
    if (access.writes && access.node > begin && access.node < end) { return true; }
  }
  return false;
}

bool Accesses::IsOutput(ValueId id) const {
  return output_[static_cast<size_t>(graph_.BufferOf(id))];
}

}  // namespace graph
}  // namespace oneflow
