// Constant folding: what depends on nothing but constants is computed once, here.
#ifndef ONEFLOW_GRAPH_PASSES_CONSTANT_FOLDING_H_
#define ONEFLOW_GRAPH_PASSES_CONSTANT_FOLDING_H_

#include "oneflow/graph/passes/pass.h"

namespace oneflow {
namespace graph {

// A larger result is computed anew by each run: the graph would keep it for ever.
inline constexpr int64_t kLargestConstant = 1 << 16;

// Fires once for each node whose result becomes a constant. Never random ops, nor results that
// something writes to, nor outputs of the graph. Errors of kernels leave the node as it is.
Maybe<PassResult> FoldConstants(const LogicalGraph& graph);

}  // namespace graph
}  // namespace oneflow

#endif  // ONEFLOW_GRAPH_PASSES_CONSTANT_FOLDING_H_
