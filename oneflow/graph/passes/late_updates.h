// Moves what changes captured tensors in place to the end of the graph, where nothing between needs
// the change: an op that fails half-way then leaves those tensors as they were.
#ifndef ONEFLOW_GRAPH_PASSES_LATE_UPDATES_H_
#define ONEFLOW_GRAPH_PASSES_LATE_UPDATES_H_

#include "oneflow/graph/passes/pass.h"

namespace oneflow {
namespace graph {

// Fires once for each node that moves behind another.
Maybe<PassResult> DelayUpdates(const LogicalGraph& graph);

}  // namespace graph
}  // namespace oneflow

#endif  // ONEFLOW_GRAPH_PASSES_LATE_UPDATES_H_
