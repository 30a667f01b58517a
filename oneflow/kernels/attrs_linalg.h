// The attribute structs of recurrent layers, attention and linear algebra. See attrs.h.
//
// Thread safety: plain values.
#ifndef ONEFLOW_KERNELS_ATTRS_LINALG_H_
#define ONEFLOW_KERNELS_ATTRS_LINALG_H_

#include <cstdint>
#include <type_traits>

namespace oneflow {

// lstm_layer, gru_layer, rnn_layer and their gradients: one direction of one layer.
struct SequenceAttrs {
  bool reverse = false;  // from the last step to the first
  bool relu = false;     // rnn_layer: relu instead of tanh
};

// fused_attention and its gradient.
struct AttentionAttrs {
  double scale = 1.0;
  double dropout = 0.0;    // weights that are kept are multiplied by 1 / (1 - dropout)
  bool is_causal = false;  // query i sees keys 0 to i
  bool rows_first =
      false;  // the result and gradients lie as (a, rows, b, cols), not (a, b, rows, cols)
};

static_assert(std::is_trivially_copyable_v<SequenceAttrs> &&
                  std::is_trivially_copyable_v<AttentionAttrs>,
              "an instruction copies attributes by memcpy");

}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_ATTRS_LINALG_H_
