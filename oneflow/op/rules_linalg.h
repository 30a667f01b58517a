// Rules of recurrent layers, attention and linear algebra. See rules.h.
//
// Thread safety: pure functions.
#ifndef ONEFLOW_OP_RULES_LINALG_H_
#define ONEFLOW_OP_RULES_LINALG_H_

#include "oneflow/op/op_def.h"

namespace oneflow {

// One direction of one recurrent layer. Inputs: x (rows, in), sizes (steps,) int64 or none, h0 (batch, h)
// [, c0 (batch, h) for an LSTM], w_ih (g h, in), w_hh (g h, h), b_ih and b_hh (g h,) or none.
// Results: y (rows, h), hn (batch, h) [, cn] [, what backward needs].
Maybe<void> InferLstmLayer(const InferContext& context, TensorMeta* outputs);
Maybe<void> InferGruLayer(const InferContext& context, TensorMeta* outputs);
Maybe<void> InferRnnLayer(const InferContext& context, TensorMeta* outputs);
// Inputs: dy, dhn [, dcn], sizes (each or none), h0 [, c0], w_hh, y [, saved]. Results: the gradients of
// the gates (rows, g h), of h0 [, c0], w_hh [, GRU: b_hh].
Maybe<void> InferLstmLayerBackward(const InferContext& context, TensorMeta* outputs);
Maybe<void> InferGruLayerBackward(const InferContext& context, TensorMeta* outputs);
Maybe<void> InferRnnLayerBackward(const InferContext& context, TensorMeta* outputs);

// q (a, b, l, e), k (a, b, s, e), v (a, b, s, f), a mask that broadcasts to (a, b, l, s) or none, which
// weights are kept (a, b, l, s) or none -> (a, b, l, f), and (a, b, l). AttentionAttrs::rows_first: (a, l,
// b, f), and so the gradients.
Maybe<void> InferAttention(const InferContext& context, TensorMeta* outputs);
// The gradient of the first result, the operands, both results -> the gradients of q, k and v.
Maybe<void> InferAttentionBackward(const InferContext& context, TensorMeta* outputs);

// Stacks of square matrices (..., n, n) of a floating dtype -> the same.
Maybe<void> InferInverse(const InferContext& context, TensorMeta* outputs);

}  // namespace oneflow

#endif  // ONEFLOW_OP_RULES_LINALG_H_
