#include "oneflow/graph/passes/blocked_layout.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "oneflow/graph/call_builder.h"
#include "oneflow/graph/passes/arranged_weights.h"
#include "oneflow/graph/passes/blocked_weights.h"
#include "oneflow/kernels/attrs_norm.h"
#include "oneflow/kernels/attrs_spatial.h"
#include "oneflow/op/generated/op_defs_batch_norm.h"
#include "oneflow/op/generated/op_defs_conv.h"
#include "oneflow/op/generated/op_defs_pool.h"

namespace oneflow {
namespace graph {

namespace {

template <typename Attrs>
Attrs AttrsOf(const Node& node) {
  Attrs attrs;
  std::memcpy(static_cast<void*>(&attrs), node.attrs.data(), sizeof(Attrs));
  return attrs;
}

template <typename Attrs>
void SetAttrs(Node* node, const Attrs& attrs) {
  node->attrs.assign(sizeof(Attrs), 0);
  std::memcpy(node->attrs.data(), &attrs, sizeof(Attrs));
}

// May the array be had in blocks?
bool IsBlockable(const TensorMeta& meta) {
  const bool serves = meta.dtype == DataType::kFloat || meta.dtype == DataType::kBFloat16;
  return meta.shape.size() == 4 && serves && meta.contiguous && meta.Count() > 0 &&
         meta.shape[1] % kChannelBlock == 0 && meta.device.type() == DeviceType::kCPU;
}

// Are images large enough for a convolution that reads and writes so many elements with this weight?
bool IsWorthwhile(const TensorMeta& weight, double elements, bool arranged) {
  const auto weights = static_cast<double>(weight.Count());
  if (arranged) { return elements + weights >= kLeastElements; }
  if (elements < kLeastElements) { return false; }
  // Plain convolutions of bfloat16 bring images and weights into order, too.
  if (weight.dtype == DataType::kBFloat16) { return true; }
  const auto pairs = static_cast<double>(weight.shape[0] * weight.shape[1]);
  return pairs <= kMostPairs * elements && weights <= kMostWeights * elements;
}

TensorMeta BlockedMeta(const TensorMeta& plain) {
  const Shape& s = plain.shape;
  TensorMeta meta;
  meta.dtype = plain.dtype;
  meta.device = plain.device;
  meta.SetContiguous(Shape{s[0], s[1] / kChannelBlock, s[2], s[3], kChannelBlock});
  return meta;
}

// Which operands of a node are activations: positions among its inputs and outputs.
struct Activations {
  std::vector<size_t> inputs;
  std::vector<size_t> outputs;
};

// What a node becomes on blocks; `def` is nullptr if it cannot.
struct Change {
  const OpDef* def = nullptr;
  Activations at;
};

class Blocker {
 public:
  explicit Blocker(const LogicalGraph& graph) : original_(graph), graph_(graph) {
    const size_t values = graph.values().size();
    for (size_t i = 0; i < values; ++i) { plain_.push_back(static_cast<ValueId>(i)); }
    blocked_.assign(values, kNoValue);
    FindOwn();
    arranged_.assign(values, false);
    ArrangeGroups();
  }

  PassResult Run() {
    graph_.mutable_nodes()->clear();
    for (const Node& node : original_.nodes()) {
      if (const Change change = ForConvolution(node); change.def != nullptr) {
        EmitBlocked(node, change);
        Count(node, change);
        continue;
      }
      const Change change = ForFollower(node);
      if (change.def != nullptr) {
        EmitBlocked(node, change);
      } else {
        EmitPlain(node);
      }
    }
    const bool worth = fired_ > 0 && converted_ <= kMostConverted * convolved_;
    return worth ? PassResult{std::move(graph_), fired_} : PassResult{original_, 0};
  }

 private:
  const TensorMeta& MetaOf(ValueId id) const { return original_.value(id).meta; }
  bool IsOwn(ValueId id) const { return own_[static_cast<size_t>(id)]; }
  bool HasBlocks(ValueId id) const { return blocked_[static_cast<size_t>(id)] != kNoValue; }
  bool IsArranged(ValueId id) const { return arranged_[static_cast<size_t>(id)]; }

  // Values that nobody sees but nodes, and each of them whole: they may lie in any order.
  void FindOwn() {
    std::vector<int> places(original_.buffers().size(), 0);
    for (const Value& value : original_.values()) { ++places[static_cast<size_t>(value.buffer)]; }
    std::vector<bool> seen(original_.buffers().size(), false);
    const auto see = [&](ValueId id) { seen[static_cast<size_t>(original_.BufferOf(id))] = true; };
    for (ValueId id : original_.outputs()) { see(id); }
    for (const Node& node : original_.nodes()) {
      const bool writes = node.form == Form::kOverwrite || node.form == Form::kInPlace;
      if (node.form != Form::kView && (!writes || IsSimple(node))) { continue; }
      for (ValueId id : node.outputs) { see(id); }
    }
    own_.assign(original_.values().size(), false);
    for (size_t i = 0; i < own_.size(); ++i) {
      const auto buffer = static_cast<size_t>(original_.values()[i].buffer);
      own_[i] = original_.buffers()[buffer].kind == Buffer::Kind::kComputed && !seen[buffer] &&
                places[buffer] == 1 && IsBlockable(original_.values()[i].meta);
    }
  }

  // Elementwise over arrays of one shape, or a number.
  bool IsSimple(const Node& node) const {
    if (!node.Computes() || node.draws() || !IsElementwise(*node.def)) { return false; }
    if (node.outputs.size() != 1 || node.form == Form::kOverwrite) { return false; }
    const TensorMeta& out = MetaOf(node.outputs[0]);
    if (!IsBlockable(out)) { return false; }
    for (ValueId id : node.inputs) {
      if (id == kNoValue) { return false; }
      const TensorMeta& meta = MetaOf(id);
      if (meta.Count() == 1 && meta.shape.size() <= 1) { continue; }
      if (meta.shape != out.shape || !IsBlockable(meta)) { return false; }
    }
    return true;
  }

  // Arranges the groups of weights (arranged_weights.h) all of whose convolutions take blocks.
  void ArrangeGroups() {
    std::vector<bool> fits(original_.buffers().size(), true);
    const auto group_of = [&](ValueId id) {
      return original_.buffer(original_.BufferOf(id)).order_group;
    };
    for (size_t i = 0; i < arranged_.size(); ++i) {
      arranged_[i] = group_of(static_cast<ValueId>(i)) >= 0;
    }
    for (const Node& node : original_.nodes()) {
      const ValueId weight = WeightOf(node).weight;
      if (weight == kNoValue || group_of(weight) < 0) { continue; }
      if (ForConvolution(node).def == nullptr) {
        fits[static_cast<size_t>(group_of(weight))] = false;
      }
    }
    for (size_t i = 0; i < arranged_.size(); ++i) {
      const auto id = static_cast<ValueId>(i);
      arranged_[i] = arranged_[i] && fits[static_cast<size_t>(group_of(id))];
      if (!arranged_[i]) { continue; }
      const BufferId buffer = original_.BufferOf(id);
      const TensorMeta meta = FilterBlocksMeta(MetaOf(id));
      const bool computed = original_.buffer(buffer).kind == Buffer::Kind::kComputed;
      plain_[i] = computed ? graph_.AddComputed(meta) : graph_.Place(buffer, meta);
      if (!computed) { graph_.mutable_buffer(buffer)->arrangement = FilterBlocks(MetaOf(id)); }
    }
  }

  // ---- which nodes take blocks ------------------------------------------------------------------

  Change ForConvolution(const Node& node) const {
    Change change;
    size_t weight = 1;
    if (node.def == &kConvolutionDef) {
      change = {&kBlockedConvolutionDef, {{0}, {0}}};
    } else if (node.def == &kConvolutionInputGradDef) {
      change = {&kBlockedConvolutionInputGradDef, {{0}, {0}}};
    } else if (node.def == &kConvolutionWeightGradDef) {
      change = {&kBlockedConvolutionWeightGradDef, {{0, 1}, {}}};
      weight = 2;
    } else {
      return Change();
    }
    const bool bias = weight == 1 && node.inputs.size() > 2 && node.inputs[2] != kNoValue;
    if (node.form != Form::kFresh || bias || AttrsOf<ConvAttrs>(node).groups != 1) {
      return Change();
    }
    const TensorMeta& w = MetaOf(weight == 2 ? node.outputs[0] : node.inputs[weight]);
    if (w.dtype != MetaOf(node.inputs[0]).dtype || w.shape.size() != 4 || !w.contiguous) {
      return Change();
    }
    double elements = 0;
    for (size_t i : {size_t{0}, size_t{1}}) {  // the source and what it is convolved to
      const ValueId id = weight == 2 ? node.inputs[i] : i == 0 ? node.inputs[0] : node.outputs[0];
      elements += static_cast<double>(MetaOf(id).Count());
    }
    const bool arranged = IsArranged(weight == 2 ? node.outputs[0] : node.inputs[weight]);
    if (!IsWorthwhile(w, elements, arranged)) { return Change(); }
    // A picture of few channels is taken as it is.
    const size_t source = weight == 2 ? 1 : 0;
    if (node.def != &kConvolutionInputGradDef && !IsBlockable(MetaOf(node.inputs[source]))) {
      change.at.inputs.erase(change.at.inputs.begin() + static_cast<std::ptrdiff_t>(source));
    }
    return Fits(node, change) && HasKernel(node, change) ? change : Change();
  }

  // Are parameters and statistics float32, as norms on blocks want them?
  bool HasFloatParameters(const Node& node) const {
    const auto is_other = [&](ValueId id) {
      return id != kNoValue && MetaOf(id).shape.size() == 1 && MetaOf(id).dtype != DataType::kFloat;
    };
    return std::none_of(node.inputs.begin(), node.inputs.end(), is_other) &&
           std::none_of(node.outputs.begin(), node.outputs.end(), is_other);
  }

  Change ForNorm(const Node& node) const {
    if (node.form != Form::kFresh || !HasFloatParameters(node)) { return Change(); }
    if (node.def == &kFusedBatchNormDef) { return {node.def, {{0, 3}, {0}}}; }
    if (node.def == &kFusedBatchNormBackwardDef) { return {node.def, {{0, 1, 2, 6}, {0}}}; }
    if (node.def == &kFusedBatchNormAddBackwardDef) { return {node.def, {{0, 1, 2, 6}, {0, 3}}}; }
    const bool forward = node.def == &kBatchNormalizeDef;
    if (!forward && node.def != &kBatchNormalizeBackwardDef) { return Change(); }
    const auto attrs = AttrsOf<BatchNormAttrs>(node);
    if (!attrs.training || attrs.axis != 1) { return Change(); }
    if (forward) { return {&kFusedBatchNormDef, {{0}, {0}}}; }
    return {&kFusedBatchNormBackwardDef, {{0, 1}, {0}}};
  }

  // A pool of maxima, and its gradient; both or neither, since blocks know maxima by their places in windows.
  Change ForPool(const Node& node) const {
    if (node.form != Form::kFresh) { return Change(); }
    if (node.def == &kMaxPoolDef && PixelsStay(node)) { return {&kBlockedMaxPoolDef, {{0}, {0}}}; }
    return node.def == &kScatterPixelsDef && HasPixels(node)
               ? Change{&kBlockedMaxPoolBackwardDef, {{0}, {0}}}
               : Change();
  }

  bool HasPixels(const Node& node) const {
    return node.def == &kScatterPixelsDef &&
           plain_[static_cast<size_t>(node.inputs[1])] != node.inputs[1];
  }

  // Are the pixels that the pool gives used by gradients alone, which can be had in blocks?
  bool PixelsStay(const Node& pool) const {
    const SpatialList& kernel = AttrsOf<PoolAttrs>(pool).kernel;
    if (kernel.count != 2 || kernel[0] > kMostPooled || kernel[1] > kMostPooled / kernel[0]) {
      return false;
    }
    const Shape& in = MetaOf(pool.inputs[0]).shape;
    const BufferId pixels = original_.BufferOf(pool.outputs[1]);
    for (ValueId id : original_.outputs()) {
      if (original_.BufferOf(id) == pixels) { return false; }
    }
    const auto uses = [&](const std::vector<ValueId>& ids) {
      return std::any_of(ids.begin(), ids.end(), [&](ValueId id) {
        return id != kNoValue && original_.BufferOf(id) == pixels;
      });
    };
    for (const Node& node : original_.nodes()) {
      if (&node == &pool || (!uses(node.inputs) && !uses(node.outputs))) { continue; }
      const bool gradient = node.def == &kScatterPixelsDef && node.form == Form::kFresh &&
                            node.inputs[1] == pool.outputs[1] &&
                            IsBlockable(MetaOf(node.inputs[0])) && IsOwn(node.outputs[0]);
      if (!gradient || MetaOf(node.outputs[0]).shape != in) { return false; }
    }
    return true;
  }

  // A node that takes blocks if something that it reads is in blocks.
  Change ForFollower(const Node& node) const {
    Change change = ForNorm(node);
    if (change.def == nullptr) { change = ForPool(node); }
    if (change.def == nullptr && IsSimple(node)) {
      change = {node.def, {{}, {0}}};
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (MetaOf(node.inputs[i]).shape.size() == 4) { change.at.inputs.push_back(i); }
      }
    }
    if (change.def == nullptr || !Fits(node, change)) { return Change(); }
    if (HasPixels(node)) { return change; }
    for (size_t i : change.at.inputs) {
      if (node.inputs[i] != kNoValue && HasBlocks(node.inputs[i])) { return change; }
    }
    return Change();
  }

  // Are its activations such as can be had in blocks, and its results its own?
  bool Fits(const Node& node, const Change& change) const {
    for (size_t i : change.at.inputs) {
      if (node.inputs[i] != kNoValue && !IsBlockable(MetaOf(node.inputs[i]))) { return false; }
    }
    for (size_t i : change.at.outputs) {
      if (!IsOwn(node.outputs[i])) { return false; }
    }
    return true;
  }

  // Asks the kernel, in a graph of this node alone.
  bool HasKernel(const Node& node, const Change& change) const {
    LogicalGraph probe("probe");
    std::vector<ValueId> inputs;
    const size_t count = std::min<size_t>(node.inputs.size(), 2);  // without the bias that is none
    for (size_t i = 0; i < count; ++i) {
      const auto& blocks = change.at.inputs;
      const bool in_blocks = std::find(blocks.begin(), blocks.end(), i) != blocks.end();
      const TensorMeta& meta = MetaOf(node.inputs[i]);
      TensorMeta dense = in_blocks ? BlockedMeta(meta) : meta;
      dense.offset = 0;
      inputs.push_back(probe.AddInput("", dense));
    }
    if (!probe.Append(change.def, node.attrs.data(), inputs, kNoStack).ok()) { return false; }
    CallBuilder builder(probe, probe.nodes()[0]);
    return ChooseKernel(*change.def, DeviceType::kCPU, *builder.call()).ok();
  }

  // ---- the new graph ----------------------------------------------------------------------------

  // A conversion for `node`, with its line.
  ValueId Convert(const OpDef& def, ValueId from, const TensorMeta& meta, const Node& node) {
    const ValueId to = graph_.AddComputed(meta);
    Node convert;
    convert.def = &def;
    convert.inputs = {from};
    convert.outputs = {to};
    convert.stack = node.stack;
    convert.context = node.context;
    convert.region = node.region;
    graph_.Record(std::move(convert));
    converted_ += static_cast<double>(meta.Count());
    return to;
  }

  ValueId BlockedOf(ValueId id, const Node& node) {
    ValueId& blocked = blocked_[static_cast<size_t>(id)];
    if (blocked != kNoValue) { return blocked; }
    const ValueId to = Convert(kBlockChannelsDef, PlainOf(id, node), BlockedMeta(MetaOf(id)), node);
    if (IsOwn(id)) { blocked = to; }  // others may be written through another place
    return to;
  }

  ValueId PlainOf(ValueId id, const Node& node) {
    ValueId& plain = plain_[static_cast<size_t>(id)];
    if (plain == kNoValue) {
      plain = Convert(kUnblockChannelsDef, blocked_[static_cast<size_t>(id)], MetaOf(id), node);
    }
    return plain;
  }

  void EmitBlocked(const Node& node, const Change& change) {
    Node made = node;
    const auto& blocks = change.at.inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kNoValue) { continue; }
      const bool in_blocks = std::find(blocks.begin(), blocks.end(), i) != blocks.end();
      made.inputs[i] = in_blocks ? BlockedOf(node.inputs[i], node) : PlainOf(node.inputs[i], node);
    }
    made.form =
        Form::kFresh;  // in place the old value would be overwritten, which nobody reads again
    Rewrite(node, change, &made);
    if (change.def == &kBlockedConvolutionWeightGradDef && IsArranged(node.outputs[0])) {
      made.outputs[0] = plain_[static_cast<size_t>(node.outputs[0])];
      auto attrs = AttrsOf<ConvAttrs>(made);
      attrs.blocked = true;
      SetAttrs(&made, attrs);
    }
    for (size_t i : change.at.outputs) {
      const auto at = static_cast<size_t>(node.outputs[i]);
      blocked_[at] = made.outputs[i] = graph_.AddComputed(BlockedMeta(MetaOf(node.outputs[i])));
      plain_[at] = kNoValue;
    }
    if (change.def == &kBlockedMaxPoolDef) {
      TensorMeta numbers = BlockedMeta(MetaOf(node.outputs[0]));
      numbers.dtype = DataType::kUInt8;
      made.outputs[1] = graph_.AddComputed(numbers);
      plain_[static_cast<size_t>(node.outputs[1])] = made.outputs[1];
      pools_[node.outputs[1]] = AttrsOf<PoolAttrs>(node);
    }
    graph_.Record(std::move(made));
  }

  // Operands and attributes as the op on blocks has them.
  void Rewrite(const Node& node, const Change& change, Node* made) const {
    made->def = change.def;
    if (change.def == &kBlockedMaxPoolBackwardDef) {
      PoolAttrs attrs = pools_.at(node.inputs[1]);
      attrs.size = AttrsOf<SpatialSizeAttrs>(node).size;
      SetAttrs(made, attrs);
    }
    if (change.def == &kBlockedConvolutionDef || change.def == &kBlockedConvolutionInputGradDef) {
      made->inputs.resize(2);
    }
    if (node.def == &kBatchNormalizeDef || node.def == &kBatchNormalizeBackwardDef) {
      FusedBatchNormAttrs attrs;
      attrs.epsilon = AttrsOf<BatchNormAttrs>(node).epsilon;
      SetAttrs(made, attrs);
      if (node.def == &kBatchNormalizeBackwardDef) {
        made->inputs.insert(made->inputs.begin() + 1, kNoValue);
      }
      made->inputs.push_back(kNoValue);
    }
    if (change.def == &kFusedBatchNormDef || change.def == &kFusedBatchNormBackwardDef ||
        change.def == &kFusedBatchNormAddBackwardDef) {
      auto attrs = AttrsOf<FusedBatchNormAttrs>(*made);
      attrs.blocked = true;
      SetAttrs(made, attrs);
    }
  }

  void EmitPlain(const Node& node) {
    Node made = node;
    for (ValueId& id : made.inputs) {
      if (id != kNoValue) { id = PlainOf(id, node); }
    }
    for (ValueId& id : made.outputs) {
      const auto at = static_cast<size_t>(id);
      if (arranged_[at]) { id = plain_[at]; }
      if (!own_[at] || arranged_[at]) { continue; }
      if (node.form == Form::kInPlace) {
        id = plain_[at];
      } else {
        plain_[at] = id;
      }
      blocked_[at] = kNoValue;
    }
    graph_.Record(std::move(made));
  }

  void Count(const Node& node, const Change& change) {
    ++fired_;
    for (size_t i : change.at.inputs) {
      convolved_ += static_cast<double>(MetaOf(node.inputs[i]).Count());
    }
    for (size_t i : change.at.outputs) {
      convolved_ += static_cast<double>(MetaOf(node.outputs[i]).Count());
    }
  }

  const LogicalGraph& original_;
  LogicalGraph graph_;
  std::vector<bool> own_;       // of each value of the original
  std::vector<bool> arranged_;  // the same: lies as FilterBlocks() says, in all of the new graph
  std::vector<ValueId>
      plain_;  // where it is found in the new graph as it was, or arranged; kNoValue: nowhere
  std::vector<ValueId> blocked_;        // the same, in blocks
  std::map<ValueId, PoolAttrs> pools_;  // in blocks, by the pixels that they gave
  int64_t fired_ = 0;
  double convolved_ = 0;
  double converted_ = 0;
};

}  // namespace

Maybe<PassResult> BlockLayout(const LogicalGraph& graph) {
  PassResult result = Blocker(graph).Run();
  if (result.fired == 0) { return result; }
  return PassResult{JUST(KeepWeightsInFloat(result.graph)), result.fired};
}

}  // namespace graph
}  // namespace oneflow
