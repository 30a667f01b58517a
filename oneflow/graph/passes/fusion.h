// Elementwise fusion: neighbours that work element by element on arrays of one size run tile by tile,
// so that what one writes is still in the cache when the next one reads it; and what only they use
// takes no more memory than a tile for each thread.
#ifndef ONEFLOW_GRAPH_PASSES_FUSION_H_
#define ONEFLOW_GRAPH_PASSES_FUSION_H_

#include "oneflow/graph/passes/pass.h"

namespace oneflow {
namespace graph {

inline constexpr int64_t kTileElements = 4096;
// Of smaller arrays everything is in the cache anyway.
inline constexpr int64_t kSmallestFused = 4 * kTileElements;
inline constexpr int kMaxFusedNodes = 16;

// Is one element all there is in the place (a scalar, also where it is expanded)? Every tile reads it.
bool IsOneElement(const TensorMeta& meta);

// Fires once for each node that joins another.
Maybe<PassResult> FuseElementwise(const LogicalGraph& graph);

}  // namespace graph
}  // namespace oneflow

#endif  // ONEFLOW_GRAPH_PASSES_FUSION_H_
