// Arranged weights: finds the parameters of convolutions that may lie in the order in which the kernels read
// them, (O / 16, I / 16, H, W, 16 of I, 16 of O), instead of being brought into it at each of their uses.
//
// A weight may if nobody in the graph sees in which order it lies: it is the weight of convolutions and of
// their gradients by the input, what else it meets is elementwise (the update, its states, sums of
// gradients), or a norm over all elements, and so on for whatever it meets there. All of these then have
// to lie in one order: a group. The pass only numbers the groups; blocked_layout.h decides which of them
// are arranged, and the vm keeps captured tensors that way between runs (vm/arrangement.h).
#ifndef ONEFLOW_GRAPH_PASSES_ARRANGED_WEIGHTS_H_
#define ONEFLOW_GRAPH_PASSES_ARRANGED_WEIGHTS_H_

#include "oneflow/graph/passes/pass.h"
#include "oneflow/vm/arrangement.h"

namespace oneflow {
namespace graph {

inline constexpr char kArrangedWeights[] = "arranged_weights";  // its name as a pass

// Fires once for each weight of a convolution that may be arranged.
Maybe<PassResult> GroupWeights(const LogicalGraph& graph);

// A convolution, or a gradient of one, and where its weight is.
struct ConvWeight {
  ValueId weight = kNoValue;  // kNoValue: the node is none
  bool written = false;       // the node makes it: a gradient
};
ConvWeight WeightOf(const Node& node);

// The order of the weight (O, I, H, W) of a convolution; nullptr where O and I are not whole blocks of 16
// channels, or no kernel makes it.
const Arrangement* FilterBlocks(const TensorMeta& weight);
// Such a weight as it then lies.
TensorMeta FilterBlocksMeta(const TensorMeta& weight);

}  // namespace graph
}  // namespace oneflow

#endif  // ONEFLOW_GRAPH_PASSES_ARRANGED_WEIGHTS_H_
