#include "oneflow/graph/passes/late_updates.h"

#include <algorithm>
#include <utility>

namespace oneflow {
namespace graph {

namespace {

bool UpdatesOnly(const LogicalGraph& graph, const Node& node) {
  if (node.form != Form::kInPlace && node.form != Form::kOverwrite) { return false; }
  for (ValueId id : node.outputs) {
    if (graph.buffer(graph.BufferOf(id)).kind == Buffer::Kind::kComputed) { return false; }
  }
  return true;
}

}  // namespace

Maybe<PassResult> DelayUpdates(const LogicalGraph& graph) {
  LogicalGraph result = graph;
  std::vector<bool> touched(graph.buffers().size(), false);  // by a later node that stays
  std::vector<bool> written(graph.buffers().size(), false);
  const auto at = [&](ValueId id) { return static_cast<size_t>(graph.BufferOf(id)); };
  std::vector<Node> stay;
  std::vector<Node> move;
  int64_t fired = 0;
  std::vector<Node>& nodes = *result.mutable_nodes();
  for (size_t i = nodes.size(); i-- > 0;) {
    Node& node = nodes[i];
    bool free = UpdatesOnly(graph, node);
    for (ValueId id : node.outputs) { free = free && !touched[at(id)]; }
    for (ValueId id : node.inputs) { free = free && (id == kNoValue || !written[at(id)]); }
    if (free) {
      fired += stay.empty() ? 0 : 1;
      move.push_back(std::move(node));
      continue;
    }
    if (node.form != Form::kView) {
      for (ValueId id : node.inputs) {
        if (id != kNoValue) { touched[at(id)] = true; }
      }
      for (ValueId id : node.outputs) { touched[at(id)] = written[at(id)] = true; }
    }
    stay.push_back(std::move(node));
  }
  std::reverse(stay.begin(), stay.end());
  std::reverse(move.begin(), move.end());
  std::move(move.begin(), move.end(), std::back_inserter(stay));
  nodes = std::move(stay);
  return PassResult{std::move(result), fired};
}

}  // namespace graph
}  // namespace oneflow
