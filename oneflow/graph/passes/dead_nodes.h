// Drops nodes whose results nobody uses. Random ops may go too: the others keep the offsets that
// they were given when they were traced.
#ifndef ONEFLOW_GRAPH_PASSES_DEAD_NODES_H_
#define ONEFLOW_GRAPH_PASSES_DEAD_NODES_H_

#include "oneflow/graph/passes/pass.h"

namespace oneflow {
namespace graph {

// Fires once for each node that goes.
Maybe<PassResult> EliminateDeadNodes(const LogicalGraph& graph);

}  // namespace graph
}  // namespace oneflow

#endif  // ONEFLOW_GRAPH_PASSES_DEAD_NODES_H_
