// The dense inner loops of the optimizers, one table for each instruction set.
//
// Thread safety: constants.
#ifndef ONEFLOW_KERNELS_CPU_OPTIMIZER_LOOPS_H_
#define ONEFLOW_KERNELS_CPU_OPTIMIZER_LOOPS_H_

#include <cstdint>

#include "oneflow/core/dtype.h"
#include "oneflow/kernels/attrs.h"
#include "oneflow/kernels/cpu/isa.h"

namespace oneflow {
namespace cpu {

// Updates n elements in place. `buffer` is nullptr without momentum.
using SgdFn = void (*)(void* param, void* buffer, const void* grad, int64_t n,
                       const SgdUpdateAttrs& attrs);

struct OptimizerLoops {
  SgdFn sgd[kNumDataTypes];  // nullptr: dtype not supported
};

ONEFLOW_DECLARE_ISA_TABLE(OptimizerLoops, GetOptimizerLoops);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_OPTIMIZER_LOOPS_H_
