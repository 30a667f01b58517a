// Runs a loop of ops.h over operands of any strides and of any dtype.
//
// Dense operands go straight to the loop. What repeats, has gaps, or is float16 or bfloat16 goes
// through blocks of a few hundred elements on the stack: packed, converted to float32, computed,
// and converted back.
// Thread safety: pure functions. Blocking: waits for its own threads only.
#ifndef ONEFLOW_KERNELS_CPU_MATH_ENGINE_H_
#define ONEFLOW_KERNELS_CPU_MATH_ENGINE_H_

#include "oneflow/kernels/cpu/math/ops.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

inline constexpr int kMaxMathOperands = 3;

// `count` operands that broadcast to out. `loop` is for float32 where an operand or the output is
// of a half type, unless `moves`: then elements are only moved, whatever their type.
// `streaming` serves in its place where the output is so large that it goes past the caches.
void RunMath(MathLoop loop, bool moves, const ArrayView& out, const ArrayView* operands, int count,
             const MathAttrs& attrs, int threads, MathLoop streaming = nullptr);

// Whether an integral array holds a zero.
bool HasZero(const ArrayView& x);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_MATH_ENGINE_H_
