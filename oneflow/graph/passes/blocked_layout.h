// Blocked layout: chains of convolutions keep what is between them in blocks of 16 channels, (N, C / 16, H, W, 16),
// as the fastest convolution kernels take it, instead of bringing it into that order and back at each of them.
//
// Convolutions and their gradients ask for blocks where the kernel has them (float32 or bfloat16, two spatial dimensions, one
// group, no bias, whole blocks of channels, a machine with AVX-512) and, in float32, where images are large beside the
// weights, which are brought into the kernel's order at each call; or where the weights lie in that order already, with
// all that has to lie as they do (arranged_weights.h). In bfloat16 a plain
// convolution brings everything into order, so that blocks lose nothing. Batch norm in training, pools of maxima and
// elementwise ops go along when what they read is in blocks. Everything else reads and writes plain arrays;
// block_channels and unblock_channels stand between. What the graph is given or returns stays plain.
#ifndef ONEFLOW_GRAPH_PASSES_BLOCKED_LAYOUT_H_
#define ONEFLOW_GRAPH_PASSES_BLOCKED_LAYOUT_H_

#include "oneflow/graph/passes/pass.h"

namespace oneflow {
namespace graph {

// A convolution takes part if, for each element that it reads and writes, its weight has at most so many elements, and so
// many pairs of channels: the latter is about the same for all kernels of a stage of a network, so that they go together.
inline constexpr double kMostWeights = 2.0;
inline constexpr double kMostPairs = 0.6;
// And if it reads and writes at least so many: fewer stay in the caches, where another order gains nothing.
// With an arranged weight only this counts, of the weight's elements, too.
inline constexpr double kLeastElements = 1e5;
// The graph stays as it is if more than this share of what the convolutions read and write had to be converted.
inline constexpr double kMostConverted = 0.25;

// Fires once for each convolution, or gradient of one, that works on blocks.
Maybe<PassResult> BlockLayout(const LogicalGraph& graph);

}  // namespace graph
}  // namespace oneflow

#endif  // ONEFLOW_GRAPH_PASSES_BLOCKED_LAYOUT_H_
