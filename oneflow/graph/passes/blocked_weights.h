// Weights of convolutions on blocks of bfloat16, where they are float32 outside: the convolution rounds them as it brings them
// into its order, and their gradient is written in float32, so that no copy in bfloat16 is made of either.
#ifndef ONEFLOW_GRAPH_PASSES_BLOCKED_WEIGHTS_H_
#define ONEFLOW_GRAPH_PASSES_BLOCKED_WEIGHTS_H_

#include "oneflow/graph/logical_graph.h"

namespace oneflow {
namespace graph {

// The graph without casts of such weights and gradients.
Maybe<LogicalGraph> KeepWeightsInFloat(const LogicalGraph& graph);

}  // namespace graph
}  // namespace oneflow

#endif  // ONEFLOW_GRAPH_PASSES_BLOCKED_WEIGHTS_H_
