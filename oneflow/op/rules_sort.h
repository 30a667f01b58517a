// The rules of sorting, selecting, searching and cumulative ops. Attributes: attrs_reduce.h.
//
// Thread safety: pure functions.
#ifndef ONEFLOW_OP_RULES_SORT_H_
#define ONEFLOW_OP_RULES_SORT_H_

#include "oneflow/op/op_def.h"

namespace oneflow {

// CumulativeAttrs.
Maybe<void> InferCumulative(const InferContext& context, TensorMeta* outputs);
// Values like the input, and int64 indices of the same shape.
Maybe<void> InferWithIndices(const InferContext& context, TensorMeta* outputs);
// TopkAttrs: k elements along the dim, and their indices.
Maybe<void> InferTopk(const InferContext& context, TensorMeta* outputs);
// SelectAttrs: one element along the dim, and its index.
Maybe<void> InferSelect(const InferContext& context, TensorMeta* outputs);
// One element of the input, which has one dim.
Maybe<void> InferElement(const InferContext& context, TensorMeta* outputs);
// SearchAttrs: (..., n), (..., m), and perhaps (..., n) -> (..., m); or (n,) and any shape.
Maybe<void> InferSearch(const InferContext& context, TensorMeta* outputs);
// (n,) and (n, classes) -> (n,).
Maybe<void> InferInTopk(const InferContext& context, TensorMeta* outputs);
// Two operands of one shape -> (1,).
Maybe<void> InferAuc(const InferContext& context, TensorMeta* outputs);

// (n,) -> room for n values, n indices and n counts, and the number of values.
Maybe<void> InferUnique(const InferContext& context, TensorMeta* outputs);
// BincountAttrs: (n,), and perhaps (n,) -> (size,).
Maybe<void> InferBincount(const InferContext& context, TensorMeta* outputs);

// All operands and both (all four) results whole on every rank.
Maybe<void> SbpBroadcastPair(const InferContext& context, SbpSignatureList* out);
Maybe<void> SbpBroadcastFour(const InferContext& context, SbpSignatureList* out);

}  // namespace oneflow

#endif  // ONEFLOW_OP_RULES_SORT_H_
