// Arrays of (N, C / 16, H, W, 16), in which 16 channels lie side by side, seen as (N, C, H, W); and weights
// (O / 16, C / 16, H, W, 16 of C, 16 of O), seen as (O, C, H, W).
//
// Thread safety: values. Ownership: a BlockedCall borrows the call's operands.
#ifndef ONEFLOW_KERNELS_CPU_CONV_BLOCKED_SHAPES_H_
#define ONEFLOW_KERNELS_CPU_CONV_BLOCKED_SHAPES_H_

#include <cstdint>

#include "oneflow/kernels/attrs_spatial.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

inline bool IsBlocked(const ArrayView& view) { return view.ndim >= 5; }

// The call with the shapes that blocked operands stand for. Its strides are not theirs.
class BlockedCall {
 public:
  explicit BlockedCall(const KernelCall& call) : call_(call) {
    for (int i = 0; i < call.num_inputs; ++i) { views_[i] = Plain(call.inputs[i], shapes_[i]); }
    for (int i = 0; i < call.num_outputs; ++i) {
      views_[kMost + i] = Plain(call.outputs[i], shapes_[kMost + i]);
    }
    call_.inputs = views_;
    call_.outputs = views_ + kMost;
  }
  BlockedCall(const BlockedCall&) = delete;
  BlockedCall& operator=(const BlockedCall&) = delete;

  const KernelCall& call() const { return call_; }

 private:
  static constexpr int kMost = 3;  // operands, and results

  static ArrayView Plain(const ArrayView& view, int64_t* shape) {
    ArrayView plain = view;
    if (!IsBlocked(view)) { return plain; }
    const int64_t first = view.ndim == 6 ? kChannelBlock : 1;
    const int64_t sizes[] = {view.shape[0] * first, view.shape[1] * kChannelBlock, view.shape[2],
                             view.shape[3]};
    for (int d = 0; d < 4; ++d) { shape[d] = sizes[d]; }
    plain.shape = shape;
    plain.ndim = 4;
    return plain;
  }

  int64_t shapes_[2 * kMost][4];
  ArrayView views_[2 * kMost];
  KernelCall call_;
};

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_CONV_BLOCKED_SHAPES_H_
