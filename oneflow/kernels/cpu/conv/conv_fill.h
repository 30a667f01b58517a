// The bias of a convolution: one number for each channel, dimension 1 of a dense array.
//
// Thread safety: pure functions. Blocking: waits for its own threads only.
#ifndef ONEFLOW_KERNELS_CPU_CONV_CONV_FILL_H_
#define ONEFLOW_KERNELS_CPU_CONV_CONV_FILL_H_

#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

// Each channel of `out` (dense; float32, float64 or bfloat16) becomes its bias, or 0 without one.
void FillWithBias(const ArrayView& out, const ArrayView* bias);
void AddBias(const ArrayView& out, const ArrayView& bias, int threads);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_CONV_CONV_FILL_H_
