#include "oneflow/graph/passes/in_place.h"

#include <utility>

#include "oneflow/op/generated/op_defs_batch_norm.h"

namespace oneflow {
namespace graph {

namespace {

// Those read a channel as often as they need to before they write it, element by element.
bool IsFusedNorm(const OpDef& def) {
  return &def == &kFusedBatchNormDef || &def == &kFusedBatchNormBackwardDef ||
         &def == &kFusedBatchNormAddBackwardDef;
}

// May output 0 of `node` be put where its input `i` is, element for element?
bool Fits(const LogicalGraph& graph, const Usage& usage, NodeId id, size_t i) {
  const Node& node = graph.node(id);
  const ValueId input = node.inputs[i];
  if (input == kNoValue) { return false; }
  const BufferId from = graph.BufferOf(input);
  const BufferId to = graph.BufferOf(node.outputs[0]);
  if (graph.buffer(from).kind != Buffer::Kind::kComputed) { return false; }
  if (usage[from].last != id || usage[from].output || usage[to].output) { return false; }
  if (graph.buffer(from).bytes != graph.buffer(to).bytes) { return false; }
  if (!SameMeta(graph.value(input).meta, graph.value(node.outputs[0]).meta)) { return false; }
  for (size_t j = 0; j < node.inputs.size(); ++j) {  // another view of the same memory
    const ValueId other = node.inputs[j];
    if (other != kNoValue && other != input && graph.BufferOf(other) == from) { return false; }
  }
  return true;
}

}  // namespace

Maybe<PassResult> ReuseInPlace(const LogicalGraph& graph) {
  LogicalGraph result = graph;
  const Usage usage(graph);
  int64_t fired = 0;
  const auto end = static_cast<NodeId>(graph.nodes().size());
  for (NodeId id = 0; id < end; ++id) {
    const Node& node = graph.node(id);
    const bool element_by_element =
        (node.outputs.size() == 1 && IsElementwise(*node.def)) || IsFusedNorm(*node.def);
    const bool suits = node.form == Form::kFresh && node.Computes() && node.fused < 0 &&
                       element_by_element && !node.draws();
    for (size_t i = 0; suits && i < node.inputs.size(); ++i) {
      if (!Fits(graph, usage, id, i)) { continue; }
      (*result.mutable_nodes())[static_cast<size_t>(id)].reuses = static_cast<int>(i);
      ++fired;
      break;
    }
  }
  return PassResult{std::move(result), fired};
}

}  // namespace graph
}  // namespace oneflow
