// Rules for losses; see rules.h. Attributes: kernels/attrs_norm.h.
//
// Thread safety: pure functions.
#ifndef ONEFLOW_OP_RULES_LOSS_H_
#define ONEFLOW_OP_RULES_LOSS_H_

#include "oneflow/op/op_def.h"

namespace oneflow {

// x, t, [weight], [weight of positives], of one shape -> the loss. PointwiseLossAttrs.
Maybe<void> InferPointwiseLoss(const InferContext& context, TensorMeta* outputs);
// dy, x, t, [weight], [weight of positives] -> dx. PointwiseLossBackwardAttrs.
Maybe<void> InferPointwiseLossBackward(const InferContext& context, TensorMeta* outputs);
// x, target, [weight] -> loss, total_weight, max, log_sum. SoftmaxLossAttrs.
Maybe<void> InferSoftmaxLoss(const InferContext& context, TensorMeta* outputs);
// dy, x, target, [weight], total_weight, max, log_sum -> dx. SoftmaxLossAttrs.
Maybe<void> InferSoftmaxLossBackward(const InferContext& context, TensorMeta* outputs);
// log_probs (T, N, C), targets (N, S) or (sum of lengths), input_lengths (N), target_lengths (N)
// -> loss (N), alpha (N, T, states), inverse lengths (N). CtcLossAttrs.
Maybe<void> InferCtcLoss(const InferContext& context, TensorMeta* outputs);
// dy (N), those four, loss (N), alpha -> the gradient of log_probs. CtcLossAttrs.
Maybe<void> InferCtcLossBackward(const InferContext& context, TensorMeta* outputs);
// log_probs (T, N, C), input_lengths (N) -> decoded (N, T), (N, 1). CtcGreedyDecoderAttrs.
Maybe<void> InferCtcGreedyDecoder(const InferContext& context, TensorMeta* outputs);

}  // namespace oneflow

#endif  // ONEFLOW_OP_RULES_LOSS_H_
