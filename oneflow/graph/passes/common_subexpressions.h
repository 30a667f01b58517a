// Merges nodes that compute the same: same op, same attributes, same inputs, and nobody wrote to those
// between. Ops that draw random numbers are never merged, not even with equal slots; nor are results
// that something writes to later, nor two outputs of the graph, nor nodes of different regions.
//
// Attributes are compared by their bytes, so that two equal structs with different padding may stay
// apart, but different ones never meet.
#ifndef ONEFLOW_GRAPH_PASSES_COMMON_SUBEXPRESSIONS_H_
#define ONEFLOW_GRAPH_PASSES_COMMON_SUBEXPRESSIONS_H_

#include "oneflow/graph/passes/pass.h"

namespace oneflow {
namespace graph {

// Fires once for each node that is replaced by an earlier one.
Maybe<PassResult> MergeCommonSubexpressions(const LogicalGraph& graph);

}  // namespace graph
}  // namespace oneflow

#endif  // ONEFLOW_GRAPH_PASSES_COMMON_SUBEXPRESSIONS_H_
