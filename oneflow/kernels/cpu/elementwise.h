// Runs the dense loops of elementwise_loops.h over operands of any strides.
//
// Dense operands of one shape, and an operand of one element, go straight to a loop; everything
// else through StridedLoop, where runs that are not dense are packed into a small buffer.
// Thread safety: pure functions. Blocking: waits for its own threads only.
#ifndef ONEFLOW_KERNELS_CPU_ELEMENTWISE_H_
#define ONEFLOW_KERNELS_CPU_ELEMENTWISE_H_

#include "oneflow/kernels/cpu/elementwise_loops.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

// x and y broadcast to out. `param` is one element of x's type, or nullptr.
void RunBinary(const BinaryLoops& loops, const ArrayView& out, const ArrayView& x,
               const ArrayView& y, const void* param, int threads);
void RunUnary(UnaryLoop loop, const ArrayView& out, const ArrayView& x, int threads);

inline const BinaryLoops& FindLoops(BinaryOp op, DataType dtype) {
  return GetElementwiseLoops().binary[static_cast<int>(op)][static_cast<int>(dtype)];
}

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_ELEMENTWISE_H_
