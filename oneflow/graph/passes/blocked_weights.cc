#include "oneflow/graph/passes/blocked_weights.h"

#include <cstring>
#include <utility>

#include "oneflow/graph/call_builder.h"
#include "oneflow/graph/passes/accesses.h"
#include "oneflow/graph/passes/dead_nodes.h"
#include "oneflow/kernels/attrs_spatial.h"
#include "oneflow/op/generated/op_defs_conv.h"
#include "oneflow/op/generated/op_defs_elementwise.h"

namespace oneflow {
namespace graph {

namespace {

class Widener {
 public:
  explicit Widener(const LogicalGraph& graph)
      : graph_(graph), removed_(graph.nodes().size(), false), uses_(graph, removed_) {}

  LogicalGraph Run() {
    const auto end = static_cast<NodeId>(graph_.nodes().size());
    for (NodeId id = 0; id < end; ++id) {
      const OpDef* def = graph_.node(id).def;
      if (def == &kBlockedConvolutionDef || def == &kBlockedConvolutionInputGradDef) {
        ReadWeight(id);
      } else if (def == &kBlockedConvolutionWeightGradDef) {
        WriteGradient(id);
      }
    }
    std::vector<Node> kept;
    for (size_t i = 0; i < removed_.size(); ++i) {
      if (!removed_[i]) { kept.push_back(std::move((*graph_.mutable_nodes())[i])); }
    }
    *graph_.mutable_nodes() = std::move(kept);
    return std::move(graph_);
  }

 private:
  bool IsCast(NodeId id, DataType from, DataType to) const {
    if (id < 0) { return false; }
    const Node& node = graph_.node(id);
    return node.def == &kCastDef && node.form == Form::kFresh &&
           graph_.value(node.inputs[0]).meta.dtype == from &&
           graph_.value(node.outputs[0]).meta.dtype == to;
  }

  // Puts `changed` in place of a node, if there is a kernel for it.
  bool Replace(NodeId id, Node changed) {
    CallBuilder builder(graph_, changed);
    if (!ChooseKernel(*changed.def, DeviceType::kCPU, *builder.call()).ok()) { return false; }
    (*graph_.mutable_nodes())[static_cast<size_t>(id)] = std::move(changed);
    return true;
  }

  // The convolution reads what its weight was cast from, where that still holds the same.
  void ReadWeight(NodeId id) {
    const ValueId weight = graph_.node(id).inputs[1];
    const NodeId cast = MakerOf(weight, id);
    if (!IsCast(cast, DataType::kFloat, DataType::kBFloat16)) { return; }
    const ValueId source = graph_.node(cast).inputs[0];
    if (!graph_.value(source).meta.contiguous || uses_.WrittenBetween(source, cast, id)) { return; }
    Node changed = graph_.node(id);
    changed.inputs[1] = source;
    Replace(id, std::move(changed));
  }

  // The one node that writes the value's buffer before `reader`; -1: there are several, or none.
  NodeId MakerOf(ValueId id, NodeId reader) const {
    for (NodeId at = uses_.FirstAfter(id, -1); at >= 0 && at < reader;
         at = uses_.FirstAfter(id, at)) {
      const Node& node = graph_.node(at);
      if (node.outputs[0] != id || uses_.WrittenBetween(id, at, reader)) { return -1; }
      return at;
    }
    return -1;
  }

  // The gradient makes what it would be cast to, where nobody else reads it.
  void WriteGradient(NodeId id) {
    const ValueId gradient = graph_.node(id).outputs[0];
    const NodeId cast = uses_.FirstAfter(gradient, id);
    if (!IsCast(cast, DataType::kBFloat16, DataType::kFloat)) { return; }
    const Node& reader = graph_.node(cast);
    if (reader.inputs[0] != gradient || reader.region != graph_.node(id).region) { return; }
    if (uses_.FirstAfter(gradient, cast) >= 0 || uses_.IsOutput(gradient)) { return; }
    Node changed = graph_.node(id);
    ConvAttrs attrs;
    std::memcpy(static_cast<void*>(&attrs), changed.attrs.data(), sizeof(attrs));
    attrs.float_weight = true;
    std::memcpy(changed.attrs.data(), &attrs, sizeof(attrs));
    changed.outputs[0] = reader.outputs[0];
    if (Replace(id, std::move(changed))) { removed_[static_cast<size_t>(cast)] = true; }
  }

  LogicalGraph graph_;
  std::vector<bool> removed_;
  const Accesses uses_;  // as the nodes were
};

}  // namespace

Maybe<LogicalGraph> KeepWeightsInFloat(const LogicalGraph& graph) {
  PassResult result = JUST(EliminateDeadNodes(Widener(graph).Run()));
  return std::move(result.graph);
}

}  // namespace graph
}  // namespace oneflow
