// The plain formula of each elementwise op: the oracle of the vectorised ones.
//
// Thread safety: pure functions.
#ifndef ONEFLOW_KERNELS_CPU_MATH_REFERENCE_H_
#define ONEFLOW_KERNELS_CPU_MATH_REFERENCE_H_

#include <cstdint>

#include "oneflow/kernels/cpu/math/ops.h"

namespace oneflow {
namespace cpu {

// On floats, in double by C's math library; and on integers, 0 and 1 for bool. nullptr: no such op.
using RealFn = double (*)(const double* x, const MathAttrs& m);
using WholeFn = int64_t (*)(const int64_t* x, const MathAttrs& m);

RealFn RealFormula(MathOp op);
WholeFn WholeFormula(MathOp op);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_MATH_REFERENCE_H_
