// Pass: a function from graph to graph that leaves every output and update as it was, and says how
// often it fired. RunPasses() runs a list of them and verifies the graph after each.
//
// Thread safety: pure functions.
#ifndef ONEFLOW_GRAPH_PASSES_PASS_H_
#define ONEFLOW_GRAPH_PASSES_PASS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "oneflow/common/maybe.h"
#include "oneflow/graph/logical_graph.h"

namespace oneflow {
namespace graph {

struct PassResult {
  LogicalGraph graph;
  int64_t fired = 0;
};

struct Pass {
  const char* name;
  Maybe<PassResult> (*run)(const LogicalGraph& graph);
};

struct PassCount {
  std::string name;
  int64_t fired;
};

// The passes that every graph gets, in their order.
const std::vector<Pass>& DefaultPasses();

// Appends to `counts` one entry for each pass.
Maybe<LogicalGraph> RunPasses(LogicalGraph graph, const std::vector<Pass>& passes,
                              std::vector<PassCount>* counts);

// What a pass does with the nodes of the old graph, asked for each one in order. Either function may
// be left out.
struct Rewriter {
  // REQUIRES: no output of a dropped node is used.
  std::function<bool(NodeId id)> drop;
  // Values of the new graph that take the place of the node's outputs; nothing: the node is copied.
  // `inputs` are the node's inputs in the new graph, `copy` is that graph so far.
  std::function<std::vector<ValueId>(NodeId id, const std::vector<ValueId>& inputs,
                                     const LogicalGraph& copy)>
      replace;
};

// Copies `from`. Inputs of the graph all stay, in their order; captured tensors that nothing uses go.
LogicalGraph CopyWith(const LogicalGraph& from, const Rewriter& rewriter);

}  // namespace graph
}  // namespace oneflow

#endif  // ONEFLOW_GRAPH_PASSES_PASS_H_
