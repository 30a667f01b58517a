// The rules that rows of the op table name: what the outputs look like, and how operands may be
// split over ranks. See op_def.h for what an InferFn and an SbpFn promise.
//
// A rule has a name of its own, not an op's, wherever more than one op can use it.
// Thread safety: pure functions.
#ifndef ONEFLOW_OP_RULES_H_
#define ONEFLOW_OP_RULES_H_

#include "oneflow/op/op_def.h"

namespace oneflow {

// rules_elementwise.cc
// The shape and dtype of input 0.
Maybe<void> InferUnary(const InferContext& context, TensorMeta* outputs);
// The same for floating inputs only.
Maybe<void> InferFloatingUnary(const InferContext& context, TensorMeta* outputs);
// The shape of input 0, and bool.
Maybe<void> InferUnaryToBool(const InferContext& context, TensorMeta* outputs);
// All inputs broadcast together; they have one dtype.
Maybe<void> InferBroadcast(const InferContext& context, TensorMeta* outputs);
Maybe<void> InferFloatingBroadcast(const InferContext& context, TensorMeta* outputs);
Maybe<void> InferBroadcastToBool(const InferContext& context, TensorMeta* outputs);
// All inputs have the shape and dtype of input 0, and so has each output.
Maybe<void> InferSameShape(const InferContext& context, TensorMeta* outputs);
// CastAttrs.
Maybe<void> InferCast(const InferContext& context, TensorMeta* outputs);

// rules_creation.cc: ShapeAttrs, FullAttrs, ArangeOpAttrs, RandnAttrs, RandAttrs.
Maybe<void> InferEmpty(const InferContext& context, TensorMeta* outputs);
Maybe<void> InferFull(const InferContext& context, TensorMeta* outputs);
Maybe<void> InferArange(const InferContext& context, TensorMeta* outputs);
Maybe<void> InferRandn(const InferContext& context, TensorMeta* outputs);
Maybe<void> InferRand(const InferContext& context, TensorMeta* outputs);

// rules_reduce.cc: ReduceAttrs; more in rules_reduce.h.
Maybe<void> InferReduce(const InferContext& context, TensorMeta* outputs);
Maybe<void> InferFloatingReduce(const InferContext& context, TensorMeta* outputs);
Maybe<void> InferArgmax(const InferContext& context, TensorMeta* outputs);

// rules_view.cc: ShapeAttrs, PermuteAttrs, SliceAttrs.
Maybe<void> InferView(const InferContext& context, TensorMeta* outputs);
Maybe<void> InferExpand(const InferContext& context, TensorMeta* outputs);
Maybe<void> InferPermute(const InferContext& context, TensorMeta* outputs);
Maybe<void> InferSlice(const InferContext& context, TensorMeta* outputs);
// SliceBackwardAttrs.
Maybe<void> InferSliceBackward(const InferContext& context, TensorMeta* outputs);

// rules_nn.cc
// (..., m, k) x (..., k, n) -> (..., m, n); leading dims broadcast.
Maybe<void> InferMatmul(const InferContext& context, TensorMeta* outputs);
// (..., k), (n, k), (n,) or nothing -> (..., n).
Maybe<void> InferLinear(const InferContext& context, TensorMeta* outputs);
// LogSoftmaxAttrs.
Maybe<void> InferLogSoftmax(const InferContext& context, TensorMeta* outputs);
// (n, c, ...), (n, ...), (c,) or nothing -> the loss, and the sum of the weights. NllLossAttrs.
Maybe<void> InferNllLoss(const InferContext& context, TensorMeta* outputs);
// dy, (n, ...), (c,) or nothing, the sum of the weights -> (n, c, ...). NllLossBackwardAttrs.
Maybe<void> InferNllLossBackward(const InferContext& context, TensorMeta* outputs);

// rules_sbp.cc
// Broadcast in, broadcast out: any op can be run whole on every rank.
Maybe<void> SbpBroadcastOnly(const InferContext& context, SbpSignatureList* out);
// Splits along each dim of the output; inputs that broadcast along it stay whole.
Maybe<void> SbpElementwise(const InferContext& context, SbpSignatureList* out);
// As SbpElementwise, and partial sums in all operands give one in the output (add, sub, neg, cast).
Maybe<void> SbpLinearElementwise(const InferContext& context, SbpSignatureList* out);
// As SbpElementwise, and a partial sum in one operand gives one in the output (mul).
Maybe<void> SbpBilinearElementwise(const InferContext& context, SbpSignatureList* out);
// A dim that stays may be split; one that is summed over gives a partial sum.
Maybe<void> SbpSum(const InferContext& context, SbpSignatureList* out);
// A dim that stays may be split.
Maybe<void> SbpReduce(const InferContext& context, SbpSignatureList* out);
Maybe<void> SbpArgmax(const InferContext& context, SbpSignatureList* out);
// Rows of the first, columns of the second; splitting what is summed over gives a partial sum.
Maybe<void> SbpMatmul(const InferContext& context, SbpSignatureList* out);
Maybe<void> SbpLinear(const InferContext& context, SbpSignatureList* out);
Maybe<void> SbpPermute(const InferContext& context, SbpSignatureList* out);
// Splits of other dims stay. Of the sliced dim each rank has what lies in its part, and zeros: a partial
// sum.
Maybe<void> SbpSlice(const InferContext& context, SbpSignatureList* out);
// All dims but the softmax's.
Maybe<void> SbpLogSoftmax(const InferContext& context, SbpSignatureList* out);

}  // namespace oneflow

#endif  // ONEFLOW_OP_RULES_H_
