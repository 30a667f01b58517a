// Rules for norms, softmax, dropout and embeddings; see rules.h. Attributes: kernels/attrs_norm.h.
//
// Thread safety: pure functions.
#ifndef ONEFLOW_OP_RULES_NORM_H_
#define ONEFLOW_OP_RULES_NORM_H_

#include "oneflow/op/op_def.h"

namespace oneflow {

// x, [weight], [bias] -> y, mean, inv_std. LayerNormAttrs.
Maybe<void> InferLayerNorm(const InferContext& context, TensorMeta* outputs);
// dy, x, [weight], mean, inv_std -> dx, dweight, dbias; the last two are empty without a weight.
Maybe<void> InferLayerNormBackward(const InferContext& context, TensorMeta* outputs);
// x, [weight], [bias] -> y, mean, variance. BatchNormAttrs.
Maybe<void> InferBatchNorm(const InferContext& context, TensorMeta* outputs);
// x, mean, variance, [weight], [bias] -> y. BatchNormAttrs.
Maybe<void> InferBatchNormInference(const InferContext& context, TensorMeta* outputs);
// x -> mean, variance. BatchNormAttrs.
Maybe<void> InferBatchNormMoments(const InferContext& context, TensorMeta* outputs);
// dy, x, [weight], mean, variance -> dx, dweight, dbias. BatchNormAttrs.
Maybe<void> InferBatchNormBackward(const InferContext& context, TensorMeta* outputs);
// x, [weight], [bias], [addend] -> y, mean, variance. FusedBatchNormAttrs.
Maybe<void> InferFusedBatchNorm(const InferContext& context, TensorMeta* outputs);
// dy, [more], x, [weight], mean, variance, [y] -> dx, dweight, dbias: dy + more is the gradient of y, and relu was
// applied if y is given.
Maybe<void> InferFusedBatchNormBackward(const InferContext& context, TensorMeta* outputs);
// The same, and the gradient of the addend.
Maybe<void> InferFusedBatchNormAddBackward(const InferContext& context, TensorMeta* outputs);
// running mean, running variance, mean, variance -> the first two. UpdateStatsAttrs.
Maybe<void> InferUpdateStats(const InferContext& context, TensorMeta* outputs);
// x, [weight], [bias] -> y, mean, inv_std. GroupNormAttrs.
Maybe<void> InferGroupNorm(const InferContext& context, TensorMeta* outputs);
// dy, x, [weight], mean, inv_std -> dx, dweight, dbias. GroupNormAttrs.
Maybe<void> InferGroupNormBackward(const InferContext& context, TensorMeta* outputs);

// x, [addend] -> y, mask. DropoutAttrs.
Maybe<void> InferDropout(const InferContext& context, TensorMeta* outputs);
// -> a bool of that shape for each element. DropoutKeptOpAttrs.
Maybe<void> InferDropoutKept(const InferContext& context, TensorMeta* outputs);
// dy, mask -> dx. DropoutBackwardAttrs.
Maybe<void> InferDropoutBackward(const InferContext& context, TensorMeta* outputs);

// weight (rows, n), indices -> (indices' shape, n). EmbeddingAttrs.
Maybe<void> InferEmbedding(const InferContext& context, TensorMeta* outputs);
// dy, indices -> (rows, n). EmbeddingBackwardAttrs.
Maybe<void> InferEmbeddingBackward(const InferContext& context, TensorMeta* outputs);
// weight, indices -> weight. EmbeddingRenormAttrs.
Maybe<void> InferEmbeddingRenorm(const InferContext& context, TensorMeta* outputs);

// Split along any dim before LayerNormAttrs::begin_axis: operands 0 (and 1 of the backward op, which
// has a partial sum for the gradient of its weight).
Maybe<void> SbpLayerNorm(const InferContext& context, SbpSignatureList* out);

}  // namespace oneflow

#endif  // ONEFLOW_OP_RULES_NORM_H_
