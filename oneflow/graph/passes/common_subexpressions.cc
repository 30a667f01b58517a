#include "oneflow/graph/passes/common_subexpressions.h"

#include <map>
#include <tuple>
#include <utility>

namespace oneflow {
namespace graph {

namespace {

// The device and dtype are part of the key for the sake of ops without inputs, which take them from
// their call.
using Key =
    std::tuple<const OpDef*, std::vector<char>, std::vector<ValueId>, DataType, DeviceType, int>;

}  // namespace

Maybe<PassResult> MergeCommonSubexpressions(const LogicalGraph& graph) {
  std::map<Key, std::vector<ValueId>> seen;
  int64_t fired = 0;
  Rewriter rewriter;
  rewriter.replace = [&](NodeId id, const std::vector<ValueId>& inputs,
                         const LogicalGraph& so_far) -> std::vector<ValueId> {
    const Node& node = graph.node(id);
    if (node.draws() || node.outputs.empty()) { return {}; }
    const TensorMeta& meta = graph.value(node.outputs[0]).meta;
    Key key(node.def, node.attrs, inputs, meta.dtype, meta.device.type(), meta.device.index());
    // The outputs of a node that is copied are the next values of the copy.
    std::vector<ValueId> outputs;
    outputs.reserve(node.outputs.size());
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      outputs.push_back(static_cast<ValueId>(so_far.values().size() + i));
    }
    const auto [at, is_new] = seen.emplace(std::move(key), std::move(outputs));
    if (is_new) { return {}; }
    ++fired;
    return at->second;
  };
  LogicalGraph copy = CopyWith(graph, rewriter);
  return PassResult{std::move(copy), fired};
}

}  // namespace graph
}  // namespace oneflow
