// In-place reuse: an elementwise op, or a fused batch norm, whose operand ends there writes its first result
// into that operand's memory.
#ifndef ONEFLOW_GRAPH_PASSES_IN_PLACE_H_
#define ONEFLOW_GRAPH_PASSES_IN_PLACE_H_

#include "oneflow/graph/passes/pass.h"

namespace oneflow {
namespace graph {

// Fires once for each result that takes over memory. Fused nodes do without.
Maybe<PassResult> ReuseInPlace(const LogicalGraph& graph);

}  // namespace graph
}  // namespace oneflow

#endif  // ONEFLOW_GRAPH_PASSES_IN_PLACE_H_
