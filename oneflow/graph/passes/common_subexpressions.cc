#include "oneflow/graph/passes/common_subexpressions.h"

#include <map>
#include <tuple>
#include <utility>

namespace oneflow {
namespace graph {

namespace {

// Inputs are values with how often their buffers were written so far. The device and dtype are part of
// the key for the sake of ops without inputs, which take them from their call.
using Key = std::tuple<const OpDef*, int, int, std::vector<char>,
                       std::vector<std::pair<ValueId, int>>, DataType, DeviceType, int>;

class Merger {
 public:
  explicit Merger(const LogicalGraph& graph)
      : graph_(graph),
        usage_(graph),
        stands_for_(graph.buffers().size()),
        writes_(graph.buffers().size(), 0) {
    for (size_t i = 0; i < stands_for_.size(); ++i) { stands_for_[i] = static_cast<BufferId>(i); }
  }

  PassResult Run() {
    std::vector<Node> kept;
    for (Node& node : *graph_.mutable_nodes()) {
      Map(&node.inputs);
      Map(&node.outputs);
      if (Merges(node)) {
        ++fired_;
        continue;
      }
      for (ValueId id : node.outputs) {
        if (node.form != Form::kView) { ++writes_[At(graph_.BufferOf(id))]; }
      }
      kept.push_back(std::move(node));
    }
    *graph_.mutable_nodes() = std::move(kept);
    std::vector<ValueId> outputs = graph_.outputs();
    Map(&outputs);
    graph_.SetOutputs(std::move(outputs));
    return PassResult{std::move(graph_), fired_};
  }

 private:
  static size_t At(BufferId id) { return static_cast<size_t>(id); }

  void Map(std::vector<ValueId>* ids) {
    for (ValueId& id : *ids) {
      if (id == kNoValue) { continue; }
      const BufferId buffer = graph_.BufferOf(id);
      const BufferId by = stands_for_[At(buffer)];
      if (by != buffer) { id = graph_.Place(by, TensorMeta(graph_.value(id).meta)); }
    }
  }

  // Is there an earlier node that does the same? Then its outputs stand for this one's.
  bool Merges(const Node& node) {
    if (node.draws() || node.outputs.empty()) { return false; }
    if (node.form != Form::kFresh && node.form != Form::kView) { return false; }
    for (ValueId id : node.outputs) {
      if (node.form == Form::kFresh && usage_[graph_.BufferOf(id)].writers != 1) { return false; }
    }
    std::vector<std::pair<ValueId, int>> inputs;
    for (ValueId id : node.inputs) {
      inputs.emplace_back(id, id == kNoValue ? 0 : writes_[At(graph_.BufferOf(id))]);
    }
    const TensorMeta& meta = graph_.value(node.outputs[0]).meta;
    Key key(node.def, static_cast<int>(node.form), node.region, node.attrs, std::move(inputs),
            meta.dtype, meta.device.type(), meta.device.index());
    const auto [at, is_new] = seen_.emplace(std::move(key), node.outputs);
    if (is_new) { return false; }
    if (node.form == Form::kView) { return true; }
    const std::vector<ValueId>& first = at->second;
    for (size_t i = 0; i < first.size(); ++i) {
      const bool both = usage_[graph_.BufferOf(first[i])].output &&
                        usage_[graph_.BufferOf(node.outputs[i])].output;
      if (both) { return false; }
    }
    for (size_t i = 0; i < first.size(); ++i) {
      stands_for_[At(graph_.BufferOf(node.outputs[i]))] = graph_.BufferOf(first[i]);
      Usage::Of& of = usage_.of[At(graph_.BufferOf(first[i]))];
      of.output = of.output || usage_[graph_.BufferOf(node.outputs[i])].output;
    }
    return true;
  }

  LogicalGraph graph_;
  Usage usage_;
  std::vector<BufferId> stands_for_;
  std::vector<int> writes_;
  std::map<Key, std::vector<ValueId>> seen_;
  int64_t fired_ = 0;
};

}  // namespace

Maybe<PassResult> MergeCommonSubexpressions(const LogicalGraph& graph) {
  return Merger(graph).Run();
}

}  // namespace graph
}  // namespace oneflow
