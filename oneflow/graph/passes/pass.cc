#include "oneflow/graph/passes/pass.h"

#include <utility>

#include "oneflow/graph/passes/common_subexpressions.h"
#include "oneflow/graph/passes/dead_nodes.h"

namespace oneflow {
namespace graph {

namespace {

class Copier {
 public:
  explicit Copier(const LogicalGraph& from)
      : from_(from), to_(from.name()), map_(from.values().size(), kNoValue) {
    for (ValueId id : from.inputs()) {
      map_[static_cast<size_t>(id)] = to_.AddInput(from.value(id).name, from.value(id).meta);
    }
  }

  LogicalGraph& to() { return to_; }

  // The value of the new graph that stands for `id`.
  ValueId Map(ValueId id) {
    if (id == kNoValue) { return kNoValue; }
    ValueId& mapped = map_[static_cast<size_t>(id)];
    const Value& old = from_.value(id);
    if (mapped == kNoValue && old.kind == Value::Kind::kCaptured) {
      mapped = to_.AddCaptured(old.name, old.meta, old.storage);
    }
    return mapped;
  }
  std::vector<ValueId> Map(const std::vector<ValueId>& ids) {
    std::vector<ValueId> out;
    out.reserve(ids.size());
    for (ValueId id : ids) { out.push_back(Map(id)); }
    return out;
  }
  void Replace(const std::vector<ValueId>& old, const std::vector<ValueId>& by) {
    for (size_t i = 0; i < old.size(); ++i) { map_[static_cast<size_t>(old[i])] = by[i]; }
  }
  void Copy(const Node& node, std::vector<ValueId> inputs) {
    std::vector<TensorMeta> metas;
    metas.reserve(node.outputs.size());
    for (ValueId id : node.outputs) { metas.push_back(from_.value(id).meta); }
    Replace(node.outputs, to_.AppendCopy(node, std::move(inputs), metas));
  }

 private:
  const LogicalGraph& from_;
  LogicalGraph to_;
  std::vector<ValueId> map_;
};

}  // namespace

LogicalGraph CopyWith(const LogicalGraph& from, const Rewriter& rewriter) {
  Copier copier(from);
  for (size_t i = 0; i < from.nodes().size(); ++i) {
    const Node& node = from.nodes()[i];
    const NodeId id = static_cast<NodeId>(i);
    if (rewriter.drop && rewriter.drop(id)) { continue; }
    std::vector<ValueId> inputs = copier.Map(node.inputs);
    std::vector<ValueId> instead;
    if (rewriter.replace) { instead = rewriter.replace(id, inputs, copier.to()); }
    if (instead.empty()) {
      copier.Copy(node, std::move(inputs));
    } else {
      copier.Replace(node.outputs, instead);
    }
  }
  copier.to().SetOutputs(copier.Map(from.outputs()));
  for (const LogicalGraph::Update& update : from.updates()) {
    copier.to().AddUpdate(copier.Map(update.target), copier.Map(update.source));
  }
  return std::move(copier.to());
}

const std::vector<Pass>& DefaultPasses() {
  static const auto* passes = new std::vector<Pass>{
      {"common_subexpressions", &MergeCommonSubexpressions},
      {"dead_nodes", &EliminateDeadNodes},
  };
  return *passes;
}

Maybe<LogicalGraph> RunPasses(LogicalGraph graph, const std::vector<Pass>& passes,
                              std::vector<PassCount>* counts) {
  JUST_MSG(graph.Verify(), "before any pass");
  for (const Pass& pass : passes) {
    PassResult result = JUST_MSG(pass.run(graph), "pass {}", pass.name);
    JUST_MSG(result.graph.Verify(), "after pass {}", pass.name);
    counts->push_back({pass.name, result.fired});
    graph = std::move(result.graph);
  }
  return graph;
}

}  // namespace graph
}  // namespace oneflow
