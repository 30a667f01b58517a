// The rules of reductions and cumulative ops beside those in rules.h. Attributes: attrs_reduce.h.
//
// Thread safety: pure functions.
#ifndef ONEFLOW_OP_RULES_REDUCE_H_
#define ONEFLOW_OP_RULES_REDUCE_H_

#include "oneflow/op/op_def.h"

namespace oneflow {

// SumAttrs.
Maybe<void> InferSum(const InferContext& context, TensorMeta* outputs);
// ReduceAttrs; IndexError where an output would come from nothing.
Maybe<void> InferExtreme(const InferContext& context, TensorMeta* outputs);
// The same, and the index of the element as second output.
Maybe<void> InferExtremeWithIndex(const InferContext& context, TensorMeta* outputs);
Maybe<void> InferReduceToBool(const InferContext& context, TensorMeta* outputs);
Maybe<void> InferReduceToInt64(const InferContext& context, TensorMeta* outputs);
// NormAttrs: as InferFloatingReduce; a greatest or smallest of nothing is an IndexError.
Maybe<void> InferNorm(const InferContext& context, TensorMeta* outputs);

}  // namespace oneflow

#endif  // ONEFLOW_OP_RULES_REDUCE_H_
