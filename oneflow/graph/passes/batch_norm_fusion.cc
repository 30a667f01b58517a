#include "oneflow/graph/passes/batch_norm_fusion.h"

#include <cstring>
#include <utility>

#include "oneflow/graph/passes/accesses.h"
#include "oneflow/kernels/attrs.h"
#include "oneflow/kernels/attrs_norm.h"
#include "oneflow/op/generated/op_defs_batch_norm.h"
#include "oneflow/op/generated/op_defs_elementwise.h"

namespace oneflow {
namespace graph {

namespace {

template <typename Attrs>
Attrs AttrsOf(const Node& node) {
  Attrs attrs;
  std::memcpy(static_cast<void*>(&attrs), node.attrs.data(), sizeof(Attrs));
  return attrs;
}

class Fuser {
 public:
  explicit Fuser(const LogicalGraph& graph)
      : graph_(graph), removed_(graph.nodes().size(), false) {}

  PassResult Run() {
    int64_t fired = 0;
    const auto end = static_cast<NodeId>(graph_.nodes().size());
    for (NodeId id = 0; id < end; ++id) {
      const OpDef* def = graph_.node(id).def;
      if (def == &kReluDef) { fired += FuseForward(id) ? 1 : 0; }
      if (def == &kReluBackwardDef) { fired += FuseBackward(id) ? 1 : 0; }
    }
    std::vector<Node> kept;
    for (size_t i = 0; i < removed_.size(); ++i) {
      if (!removed_[i]) { kept.push_back(std::move((*graph_.mutable_nodes())[i])); }
    }
    *graph_.mutable_nodes() = std::move(kept);
    return PassResult{std::move(graph_), fired};
  }

 private:
  const TensorMeta& MetaOf(ValueId id) const { return graph_.value(id).meta; }

  // Does `node` normalise, or compute the gradient of it, as the fused kernels can? `x`: its input.
  bool Normalises(const Node& node, const OpDef& def, size_t x) const {
    if (node.def != &def || node.form != Form::kFresh) { return false; }
    const auto attrs = AttrsOf<BatchNormAttrs>(node);
    const TensorMeta& meta = MetaOf(node.inputs[x]);
    // The kernels of float16 would round less than the separate ops do.
    const bool served = IsFloating(meta.dtype) && meta.dtype != DataType::kFloat16;
    if (!served || !attrs.training || attrs.axis != 1 || meta.shape.size() < 3) { return false; }
    return meta.Count() > meta.shape[0] * meta.shape[1] && meta.device.type() == DeviceType::kCPU;
  }

  // a + b of one shape and dtype.
  bool AddsPlainly(const Node& node) const {
    if (node.def != &kAddDef || AttrsOf<AddAttrs>(node).alpha.To<double>() != 1.0) { return false; }
    const TensorMeta& a = MetaOf(node.inputs[0]);
    const TensorMeta& b = MetaOf(node.inputs[1]);
    return a.shape == b.shape && a.dtype == b.dtype && node.inputs[0] != node.inputs[1];
  }

  // What the value holds before `node` is needed by nobody behind it.
  bool EndsAt(const Accesses& uses, ValueId id, NodeId node) const {
    const Node& n = graph_.node(node);
    if (n.form == Form::kInPlace && n.outputs[0] == id) { return true; }
    return uses.FirstAfter(id, node) < 0 && !uses.IsOutput(id);
  }

  struct Forward {
    NodeId norm = -1;
    NodeId add = -1;
    ValueId addend = kNoValue;
  };

  Forward FindForward(const Accesses& uses, NodeId relu) const {
    Forward found;
    const ValueId sum = graph_.node(relu).inputs[0];
    const NodeId made = uses.LastBefore(sum, relu);
    if (made < 0 || graph_.node(made).outputs[0] != sum || !EndsAt(uses, sum, relu)) {
      return found;
    }
    const Node& node = graph_.node(made);
    if (Normalises(node, kBatchNormalizeDef, 0)) {
      found.norm = made;
    } else if (AddsPlainly(node)) {
      // The later one of two: the other tensor is there by then.
      for (size_t i = 0; i < 2; ++i) {
        const ValueId operand = node.inputs[i];
        const NodeId norm = uses.LastBefore(operand, made);
        if (norm <= found.norm || !Normalises(graph_.node(norm), kBatchNormalizeDef, 0)) {
          continue;
        }
        if (graph_.node(norm).outputs[0] != operand || !EndsAt(uses, operand, made)) { continue; }
        found = {norm, made, node.inputs[1 - i]};
      }
    }
    return found;
  }

  // May batch norm run where relu does?
  bool MayMove(const Accesses& uses, const Forward& f, NodeId relu) const {
    const Node& norm = graph_.node(f.norm);
    if (norm.region != graph_.node(relu).region) { return false; }
    for (size_t i = 1; i < norm.outputs.size(); ++i) {
      if (uses.UsedBetween(norm.outputs[i], f.norm, relu)) { return false; }
    }
    for (ValueId id : norm.inputs) {
      if (uses.WrittenBetween(id, f.norm, relu)) { return false; }
    }
    return f.add < 0 || !uses.WrittenBetween(f.addend, f.add, relu);
  }

  // Lets what follows `node` use `to` instead of `from`. False, and nothing is changed, where it uses another place of
  // the same buffer.
  bool Rename(NodeId node, ValueId from, ValueId to) {
    const auto is_other = [&](ValueId id) {
      return id != kNoValue && id != from && graph_.BufferOf(id) == graph_.BufferOf(from);
    };
    std::vector<Node>& nodes = *graph_.mutable_nodes();
    std::vector<ValueId> outputs = graph_.outputs();
    for (ValueId id : outputs) {
      if (is_other(id)) { return false; }
    }
    for (size_t i = static_cast<size_t>(node) + 1; i < nodes.size(); ++i) {
      for (const auto* list : {&nodes[i].inputs, &nodes[i].outputs}) {
        for (ValueId id : *list) {
          if (is_other(id)) { return false; }
        }
      }
    }
    const auto rename = [&](std::vector<ValueId>* list) {
      for (ValueId& id : *list) { id = id == from ? to : id; }
    };
    for (size_t i = static_cast<size_t>(node) + 1; i < nodes.size(); ++i) {
      rename(&nodes[i].inputs);
      rename(&nodes[i].outputs);
    }
    rename(&outputs);
    graph_.SetOutputs(std::move(outputs));
    return true;
  }

  // A node in place of `of`, with its line.
  static Node MakeFused(const OpDef& def, const Node& of, bool relu) {
    Node fused = of;
    fused.def = &def;
    FusedBatchNormAttrs attrs;
    attrs.epsilon = AttrsOf<BatchNormAttrs>(of).epsilon;
    attrs.relu = relu;
    fused.attrs.assign(sizeof(attrs), 0);
    std::memcpy(fused.attrs.data(), &attrs, sizeof(attrs));
    return fused;
  }

  bool FuseForward(NodeId relu) {
    const Accesses uses(graph_, removed_);
    const Forward f = FindForward(uses, relu);
    if (f.norm < 0 || !MayMove(uses, f, relu)) { return false; }
    const Node norm = graph_.node(f.norm);
    ValueId out = graph_.node(relu).outputs[0];
    // A sum that was written over the other tensor gets memory of its own.
    if (f.add >= 0 && graph_.BufferOf(out) == graph_.BufferOf(f.addend)) {
      const ValueId own = graph_.AddComputed(MetaOf(norm.outputs[0]));
      if (!Rename(relu, out, own)) { return false; }
      out = own;
    }
    Node fused = MakeFused(kFusedBatchNormDef, norm, true);
    fused.inputs.push_back(f.addend);
    fused.outputs[0] = out;
    (*graph_.mutable_nodes())[static_cast<size_t>(relu)] = std::move(fused);
    removed_[static_cast<size_t>(f.norm)] = true;
    if (f.add >= 0) { removed_[static_cast<size_t>(f.add)] = true; }
    return true;
  }

  // The first gradient of batch norm that reads what relu's gradient made, if it may run there; -1: none.
  NodeId FindBackward(const Accesses& uses, NodeId mask) const {
    const Node& node = graph_.node(mask);
    const ValueId masked = node.outputs[0];
    if (node.form != Form::kFresh) { return -1; }
    for (NodeId at = uses.FirstAfter(masked, mask); at >= 0; at = uses.FirstAfter(masked, at)) {
      const Node& user = graph_.node(at);
      if (uses.WrittenBetween(masked, mask, at + 1)) { return -1; }
      if (!Normalises(user, kBatchNormalizeBackwardDef, 1) || user.inputs[0] != masked) {
        continue;
      }
      bool moves = user.region == node.region;
      for (size_t i = 1; i < user.inputs.size(); ++i) {
        moves = moves && user.inputs[i] != masked && !uses.WrittenBetween(user.inputs[i], mask, at);
      }
      return moves ? at : -1;
    }
    return -1;
  }

  // The sum that relu's gradient is given, if nothing else reads it; -1: none.
  NodeId FindSum(const Accesses& uses, NodeId mask) const {
    const ValueId sum = graph_.node(mask).inputs[0];
    const NodeId made = uses.LastBefore(sum, mask);
    if (made < 0 || sum == graph_.node(mask).inputs[1] || !EndsAt(uses, sum, mask)) { return -1; }
    const Node& node = graph_.node(made);
    if (!AddsPlainly(node) || node.form != Form::kFresh || node.outputs[0] != sum) { return -1; }
    for (ValueId id : node.inputs) {
      if (uses.WrittenBetween(id, made, mask)) { return -1; }
    }
    return node.region == graph_.node(mask).region ? made : -1;
  }

  bool FuseBackward(NodeId mask) {
    const Accesses uses(graph_, removed_);
    const NodeId norm = FindBackward(uses, mask);
    if (norm < 0) { return false; }
    const Node masking = graph_.node(mask);
    const Node of = graph_.node(norm);
    const NodeId sum = FindSum(uses, mask);
    const ValueId masked = masking.outputs[0];
    // Who else wants the masked gradient: the way past the norm.
    const bool kept = uses.IsOutput(masked) || uses.FirstAfter(masked, norm) >= 0 ||
                      uses.UsedBetween(masked, mask, norm);
    Node fused =
        MakeFused(kept ? kFusedBatchNormAddBackwardDef : kFusedBatchNormBackwardDef, of, true);
    fused.inputs = {masking.inputs[0], kNoValue};
    if (sum >= 0) { fused.inputs = graph_.node(sum).inputs; }
    fused.inputs.insert(fused.inputs.end(), of.inputs.begin() + 1, of.inputs.end());
    fused.inputs.push_back(masking.inputs[1]);
    if (kept) { fused.outputs.push_back(masked); }
    (*graph_.mutable_nodes())[static_cast<size_t>(mask)] = std::move(fused);
    removed_[static_cast<size_t>(norm)] = true;
    if (sum >= 0) { removed_[static_cast<size_t>(sum)] = true; }
    return true;
  }

  LogicalGraph graph_;
  std::vector<bool> removed_;
};

}  // namespace

Maybe<PassResult> FuseBatchNorm(const LogicalGraph& graph) { return Fuser(graph).Run(); }

}  // namespace graph
}  // namespace oneflow
