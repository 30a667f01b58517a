#include "oneflow/graph/passes/arranged_weights.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "oneflow/kernels/attrs_optim.h"
#include "oneflow/kernels/attrs_spatial.h"
#include "oneflow/op/generated/op_defs_conv.h"
#include "oneflow/op/generated/op_defs_optim.h"

namespace oneflow {
namespace graph {

ConvWeight WeightOf(const Node& node) {
  if (node.form != Form::kFresh) { return {}; }
  if (node.def == &kConvolutionDef || node.def == &kConvolutionInputGradDef) {
    return {node.inputs[1], false};
  }
  if (node.def == &kConvolutionWeightGradDef) { return {node.outputs[0], true}; }
  return {};
}

const Arrangement* FilterBlocks(const TensorMeta& weight) {
  static const ArrangementKind kind = {"filter_blocks", FindKernel("filter_blocks.cpu.arrange"),
                                       FindKernel("filter_blocks.cpu.restore")};
  const Shape& s = weight.shape;
  if (kind.arrange == nullptr || kind.restore == nullptr) { return nullptr; }
  const bool whole = s.size() == 4 && s[0] % kChannelBlock == 0 && s[1] % kChannelBlock == 0;
  const bool fits = whole && weight.contiguous && weight.dtype == DataType::kFloat &&
                    weight.device.type() == DeviceType::kCPU && weight.Count() > 0;
  return fits ? Arrangement::Of(kind, s, weight.dtype) : nullptr;
}

TensorMeta FilterBlocksMeta(const TensorMeta& weight) {
  const Shape& s = weight.shape;
  TensorMeta meta;
  meta.dtype = weight.dtype;
  meta.device = weight.device;
  meta.SetContiguous(
      Shape{s[0] / kChannelBlock, s[1] / kChannelBlock, s[2], s[3], kChannelBlock, kChannelBlock});
  return meta;
}

namespace {

bool IsListUpdate(const OpDef* def) {
  const OpDef* const updates[] = {&kMultiTensorSgdUpdateDef,      &kMultiTensorMomentumUpdateDef,
                                  &kMultiTensorAdamUpdateDef,     &kMultiTensorAdagradUpdateDef,
                                  &kMultiTensorAdadeltaUpdateDef, &kMultiTensorRmspropUpdateDef,
                                  &kMultiTensorLambUpdateDef};
  return std::find(std::begin(updates), std::end(updates), def) != std::end(updates);
}

// Each tensor of its list by itself, whatever the order of the elements; and a number.
bool IsListOp(const OpDef* def) {
  return def == &kMultiTensorNormDef || def == &kMultiTensorClipDef ||
         def == &kMultiTensorScaleDef || def == &kMultiTensorClampDef;
}

// Groups of buffers that have to lie in one order; one that has to be plain takes along its group.
class Orders {
 public:
  explicit Orders(const LogicalGraph& graph)
      : graph_(graph), parent_(graph.buffers().size()), plain_(graph.buffers().size(), false) {
    for (size_t i = 0; i < parent_.size(); ++i) { parent_[i] = i; }
    FindMovable();
    for (ValueId id : graph.outputs()) {
      // What a run makes and gives away is plain. A captured tensor is read later, by way of the vm.
      if (KindOf(id) == Buffer::Kind::kComputed) { Pin(id); }
    }
    for (const Node& node : graph.nodes()) { Visit(node); }
  }

  size_t GroupOf(ValueId id) { return Find(At(id)); }
  bool Free(ValueId id) { return !plain_[GroupOf(id)]; }
  size_t GroupOfBuffer(size_t buffer) { return Find(buffer); }

 private:
  size_t At(ValueId id) const { return static_cast<size_t>(graph_.BufferOf(id)); }
  Buffer::Kind KindOf(ValueId id) const { return graph_.buffer(graph_.BufferOf(id)).kind; }
  const TensorMeta& MetaOf(ValueId id) const { return graph_.value(id).meta; }

  // May the array lie in blocks? What is captured lies so between runs, which is float32's alone; a copy of it
  // or its gradient may be bfloat16.
  static bool IsFilter(TensorMeta meta, bool captured) {
    if (!captured && meta.dtype == DataType::kBFloat16) { meta.dtype = DataType::kFloat; }
    return FilterBlocks(meta) != nullptr;
  }

  // Buffers that are one weight, all of it, which nobody looks at in parts.
  void FindMovable() {
    std::vector<int> places(parent_.size(), 0);
    for (const Value& value : graph_.values()) { ++places[static_cast<size_t>(value.buffer)]; }
    for (size_t i = 0; i < parent_.size(); ++i) {
      const Buffer& buffer = graph_.buffers()[i];
      const bool captured = buffer.kind == Buffer::Kind::kCaptured;
      bool movable = places[i] == 1 && (captured || buffer.kind == Buffer::Kind::kComputed);
      if (movable) {
        const ValueId place = graph_.FirstPlace(static_cast<BufferId>(i));
        movable = IsFilter(MetaOf(place), captured) && CoversBuffer(graph_, place);
      }
      // Another storage of ours that the host sees later is noticed at each run.
      const Storage* storage = buffer.storage.get();
      plain_[i] = !movable || (captured && storage != nullptr && storage->host_visible());
    }
  }

  size_t Find(size_t i) {
    while (parent_[i] != i) { i = parent_[i] = parent_[parent_[i]]; }
    return i;
  }
  void Pin(ValueId id) {
    if (id != kNoValue) { plain_[GroupOf(id)] = true; }
  }
  void Join(ValueId a, ValueId b) {
    const size_t from = GroupOf(a);
    const size_t to = GroupOf(b);
    plain_[to] = plain_[to] || plain_[from];
    parent_[from] = to;
  }

  void Visit(const Node& node) {
    // A view of all of it as it is names the same place, and any other was counted above.
    if (node.form == Form::kView) { return; }
    if (const ConvWeight conv = WeightOf(node); conv.weight != kNoValue) {
      for (ValueId id : node.inputs) {
        if (id != conv.weight || conv.written) { Pin(id); }
      }
      const bool twice = std::count(node.inputs.begin(), node.inputs.end(), conv.weight) > 1;
      if (twice) { Pin(conv.weight); }
      if (!conv.written) { Pin(node.outputs[0]); }
      return;
    }
    if (IsListUpdate(node.def)) { return VisitUpdate(node); }
    if (IsListOp(node.def)) { return; }
    if (VisitElementwise(node)) { return; }
    for (ValueId id : node.inputs) { Pin(id); }
    for (ValueId id : node.outputs) { Pin(id); }
  }

  // Lists of parameters, of each of their states, and of gradients, one behind the other; then numbers.
  void VisitUpdate(const Node& node) {
    ListUpdateAttrs attrs;
    std::memcpy(static_cast<void*>(&attrs), node.attrs.data(), sizeof(attrs));
    const size_t arrays = static_cast<size_t>(attrs.states) + 2;
    const size_t size = (node.inputs.size() - (attrs.numbers ? 1 : 0)) / arrays;
    for (size_t a = 1; a < arrays; ++a) {
      for (size_t i = 0; i < size; ++i) { Join(node.inputs[a * size + i], node.inputs[i]); }
    }
  }

  // Over arrays of one shape, and numbers.
  bool VisitElementwise(const Node& node) {
    if (!node.Computes() || node.draws() || !IsElementwise(*node.def)) { return false; }
    if (node.outputs.empty()) { return false; }
    const ValueId out = node.outputs[0];
    std::vector<ValueId> arrays;
    for (const std::vector<ValueId>* ids : {&node.inputs, &node.outputs}) {
      for (ValueId id : *ids) {
        if (id == kNoValue) { continue; }
        const TensorMeta& meta = MetaOf(id);
        if (meta.Count() == 1 && meta.shape.size() <= 1) { continue; }
        if (meta.shape != MetaOf(out).shape) { return false; }
        arrays.push_back(id);
      }
    }
    for (ValueId id : arrays) { Join(id, out); }
    return true;
  }

  const LogicalGraph& graph_;
  std::vector<size_t> parent_;
  std::vector<bool> plain_;  // of a group's root
};

}  // namespace

Maybe<PassResult> GroupWeights(const LogicalGraph& graph) {
  PassResult result{graph, 0};
  Orders orders(graph);
  std::vector<bool> groups(graph.buffers().size(), false);  // those with a captured weight
  std::vector<bool> counted(graph.buffers().size(), false);
  std::vector<bool> captured(graph.buffers().size(), false);  // groups with a captured tensor
  for (size_t i = 0; i < captured.size(); ++i) {
    if (graph.buffers()[i].kind == Buffer::Kind::kCaptured) {
      captured[orders.GroupOfBuffer(i)] = true;
    }
  }
  for (const Node& node : graph.nodes()) {
    const ConvWeight conv = WeightOf(node);
    if (conv.weight == kNoValue || conv.written || !orders.Free(conv.weight)) { continue; }
    const auto at = static_cast<size_t>(graph.BufferOf(conv.weight));
    // Captured itself, or the copy in bfloat16 of what is.
    const bool copy = graph.value(conv.weight).meta.dtype == DataType::kBFloat16;
    const bool own = graph.buffers()[at].kind == Buffer::Kind::kCaptured;
    if (!own && !(copy && captured[orders.GroupOf(conv.weight)])) { continue; }
    groups[orders.GroupOf(conv.weight)] = true;
    result.fired += counted[at] ? 0 : 1;
    counted[at] = true;
  }
  for (size_t i = 0; i < groups.size(); ++i) {
    const size_t group = orders.GroupOfBuffer(i);
    if (!groups[group]) { continue; }
    result.graph.mutable_buffer(static_cast<BufferId>(i))->order_group = static_cast<int>(group);
  }
  return result;
}

}  // namespace graph
}  // namespace oneflow
