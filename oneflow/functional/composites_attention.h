// Attention. See composites.h.
//
// Thread safety: as functional calls.
#ifndef ONEFLOW_FUNCTIONAL_COMPOSITES_ATTENTION_H_
#define ONEFLOW_FUNCTIONAL_COMPOSITES_ATTENTION_H_

#include <optional>

#include "oneflow/common/maybe.h"
#include "oneflow/tensor/tensor.h"

namespace oneflow::functional::composites {

// composites_attention.cc. float32, float64 and bfloat16 go to the kernel fused_attention, float16
// through float32; masks that need a gradient, and gradients with a graph are written in other ops.
// Dropout draws which weights are kept by an op of its own.
Maybe<TensorPtr> ScaledDotProductAttention(const TensorPtr& query, const TensorPtr& key,
                                           const TensorPtr& value, const TensorPtr& attn_mask,
                                           double dropout_p, bool is_causal,
                                           std::optional<double> scale);
// The same where that was drawn before.
Maybe<TensorPtr> ScaledDotProductAttentionKept(const TensorPtr& query, const TensorPtr& key,
                                               const TensorPtr& value, const TensorPtr& kept,
                                               const TensorPtr& attn_mask, double dropout_p,
                                               bool is_causal, std::optional<double> scale);
// The gradients of fused_attention for query, key and value.
Maybe<TensorTuple> FusedAttentionGrad(const TensorPtr& dy, const TensorPtr& query,
                                      const TensorPtr& key, const TensorPtr& value,
                                      const TensorPtr& mask, const TensorPtr& kept,
                                      const TensorPtr& out, const TensorPtr& log_sum, double scale,
                                      double dropout, bool is_causal, bool rows_first);

}  // namespace oneflow::functional::composites

#endif  // ONEFLOW_FUNCTIONAL_COMPOSITES_ATTENTION_H_
