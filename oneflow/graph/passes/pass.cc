#include "oneflow/graph/passes/pass.h"

#include <algorithm>
#include <utility>

#include "oneflow/graph/passes/arranged_weights.h"
#include "oneflow/graph/passes/batch_norm_fusion.h"
#include "oneflow/graph/passes/blocked_layout.h"
#include "oneflow/graph/passes/common_subexpressions.h"
#include "oneflow/graph/passes/constant_folding.h"
#include "oneflow/graph/passes/dead_nodes.h"
#include "oneflow/graph/passes/fusion.h"
#include "oneflow/graph/passes/in_place.h"
#include "oneflow/graph/passes/late_updates.h"
#include "oneflow/graph/passes/recompute.h"
#include "oneflow/op/rules.h"

namespace oneflow {
namespace graph {

Usage::Usage(const LogicalGraph& graph) : of(graph.buffers().size()) {
  const auto use = [&](ValueId id, NodeId node, bool writes) {
    if (id == kNoValue) { return; }
    Of& buffer = of[static_cast<size_t>(graph.BufferOf(id))];
    if (buffer.first < 0) { buffer.first = node; }
    buffer.last = node;
    buffer.writers += writes ? 1 : 0;
  };
  const auto end = static_cast<NodeId>(graph.nodes().size());
  for (NodeId id = 0; id < end; ++id) {
    const Node& node = graph.node(id);
    if (node.form == Form::kView) { continue; }
    for (ValueId input : node.inputs) { use(input, id, false); }
    for (ValueId output : node.outputs) { use(output, id, true); }
  }
  for (ValueId id : graph.outputs()) { of[static_cast<size_t>(graph.BufferOf(id))].output = true; }
}

bool IsElementwise(const OpDef& def) {
  return def.sbp != nullptr && (def.sbp == &SbpElementwise || def.sbp == &SbpLinearElementwise ||
                                def.sbp == &SbpBilinearElementwise);
}

const std::vector<Pass>& DefaultPasses() {
  static const auto* passes = new std::vector<Pass>{
      {"constant_folding", &FoldConstants},  {"common_subexpressions", &MergeCommonSubexpressions},
      {"dead_nodes", &EliminateDeadNodes},   {"late_updates", &DelayUpdates},
      {"batch_norm_fusion", &FuseBatchNorm}, {kArrangedWeights, &GroupWeights},
      {"blocked_layout", &BlockLayout},      {"fusion", &FuseElementwise},
      {"in_place", &ReuseInPlace},           {"recompute", &RecomputeNorms},
  };
  return *passes;
}

Maybe<LogicalGraph> RunPasses(LogicalGraph graph, const std::vector<Pass>& passes,
                              std::vector<PassCount>* counts,
                              const std::vector<std::string>& disable) {
  for (const std::string& name : disable) {
    const bool known = std::any_of(passes.begin(), passes.end(),
                                   [&](const Pass& pass) { return pass.name == name; });
    if (!known) { return ValueError("[graph] expects the name of a pass, got '{}'", name); }
  }
  JUST_MSG(graph.Verify(), "before any pass");
  for (const Pass& pass : passes) {
    if (std::find(disable.begin(), disable.end(), pass.name) != disable.end()) {
      counts->push_back({pass.name, 0});
      continue;
    }
    PassResult result = JUST_MSG(pass.run(graph), "pass {}", pass.name);
    JUST_MSG(result.graph.Verify(), "after pass {}", pass.name);
    counts->push_back({pass.name, result.fired});
    graph = std::move(result.graph);
  }
  return graph;
}

}  // namespace graph
}  // namespace oneflow
