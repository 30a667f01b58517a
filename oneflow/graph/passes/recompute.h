// Recompute: results of batch norm that lie idle where a plan holds the most memory, from their last use before to their
// next one behind, are computed a second time right before the latter, instead of being kept.
//
// What a norm needs for that is there anyway in a training step: its input is kept for the norm's own gradient, and
// parameters are updated at the end. The second computation is the same op on the same operands, so that its
// result has the same bits. It costs an elementwise pass, which leaves the result in a cache for who reads it next.
#ifndef ONEFLOW_GRAPH_PASSES_RECOMPUTE_H_
#define ONEFLOW_GRAPH_PASSES_RECOMPUTE_H_

#include "oneflow/graph/passes/pass.h"

namespace oneflow {
namespace graph {

struct RecomputeLimits {
  double share = 0.875;                    // of the bytes at the fullest moment, which is enough
  int64_t least_bytes = int64_t{1} << 18;  // of a result that is worth an op
  int64_t cached_bytes = int64_t{16}
                         << 20;  // a result up to there is found in a cache by who reads it next
};

// The bytes at the fullest moment of a run, what kernels take for themselves included: no plan takes less.
int64_t FullestMoment(const LogicalGraph& graph);

// Fires once for each result that is computed again: as few of them as bring the fullest moment down to the share,
// or as far as it goes. Last of all passes: it has to know who takes over whose memory.
Maybe<PassResult> RecomputeWithin(const LogicalGraph& graph, const RecomputeLimits& limits);
Maybe<PassResult> RecomputeNorms(const LogicalGraph& graph);

}  // namespace graph
}  // namespace oneflow

#endif  // ONEFLOW_GRAPH_PASSES_RECOMPUTE_H_
