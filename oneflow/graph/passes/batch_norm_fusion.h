// Batch norm with what follows it: the addition of another tensor and relu become part of the op that normalises,
// which reads and writes each element once. Backward, relu's mask, and a sum of two gradients before it, become part of
// batch norm's gradient.
//
// Where: batch norm in training (with the statistics of its own batch), over dim 1 of (N, C, ...), in float32, float64 or
// bfloat16. What is fused must be used by nothing else. Results have the bits of the separate ops.
#ifndef ONEFLOW_GRAPH_PASSES_BATCH_NORM_FUSION_H_
#define ONEFLOW_GRAPH_PASSES_BATCH_NORM_FUSION_H_

#include "oneflow/graph/passes/pass.h"

namespace oneflow {
namespace graph {

// Fires once for each batch norm, and once for each gradient of one, that takes in what is beside it. A fused op has the
// line of its batch norm. After DelayUpdates, since running statistics are read between otherwise.
Maybe<PassResult> FuseBatchNorm(const LogicalGraph& graph);

}  // namespace graph
}  // namespace oneflow

#endif  // ONEFLOW_GRAPH_PASSES_BATCH_NORM_FUSION_H_
