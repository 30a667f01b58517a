// The rules of the ops that read and write where indices say. Attributes: kernels/attrs_indexing.h.
//
// Thread safety: pure functions.
#ifndef ONEFLOW_OP_RULES_INDEXING_H_
#define ONEFLOW_OP_RULES_INDEXING_H_

#include "oneflow/op/op_def.h"

namespace oneflow {

// P + K + R and indices of shape B -> P + B + R. IndexAtAttrs.
Maybe<void> InferIndexAt(const InferContext& context, TensorMeta* outputs);
// P + B + R and indices of shape B -> the shape that is given. IndexAtBackwardAttrs.
Maybe<void> InferIndexAtBackward(const InferContext& context, TensorMeta* outputs);
// P + K + R, values P + B + R, indices of shape B -> the shape of the first. IndexAtAttrs.
Maybe<void> InferIndexAtPut(const InferContext& context, TensorMeta* outputs);
// Input and index -> the shape of the index. GatherAttrs.
Maybe<void> InferGather(const InferContext& context, TensorMeta* outputs);
// Target, index, src -> the shape of the target. ScatterAttrs.
Maybe<void> InferScatter(const InferContext& context, TensorMeta* outputs);
// -> a number.
Maybe<void> InferNonzeroCount(const InferContext& context, TensorMeta* outputs);
// -> (count, ndim). CountAttrs.
Maybe<void> InferNonzeroRows(const InferContext& context, TensorMeta* outputs);
// Input and mask of one shape -> (count,). CountAttrs.
Maybe<void> InferMaskedTake(const InferContext& context, TensorMeta* outputs);
// (count,) and mask -> the shape of the mask.
Maybe<void> InferMaskedUntake(const InferContext& context, TensorMeta* outputs);
// AsStridedAttrs.
Maybe<void> InferAsStrided(const InferContext& context, TensorMeta* outputs);
Maybe<void> InferAsStridedBackward(const InferContext& context, TensorMeta* outputs);

}  // namespace oneflow

#endif  // ONEFLOW_OP_RULES_INDEXING_H_
