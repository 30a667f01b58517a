// The dense inner loops of log_softmax and its backward, one table for each instruction set.
//
// Rows: the dimension is the innermost one. Columns: `cols` neighbouring vectors, whose elements
// are `stride` apart, are done together. Sums are taken in double, in an order that depends on the
// shape alone. Outputs may be the same array as an input. Thread safety: constants.
#ifndef ONEFLOW_KERNELS_CPU_SOFTMAX_LOOPS_H_
#define ONEFLOW_KERNELS_CPU_SOFTMAX_LOOPS_H_

#include <cstdint>

#include "oneflow/core/dtype.h"
#include "oneflow/kernels/cpu/isa.h"

namespace oneflow {
namespace cpu {

// Columns that a column loop takes at most.
inline constexpr int64_t kSoftmaxTile = 64;

using LogSoftmaxRowFn = void (*)(const void* x, void* out, int64_t n);
using LogSoftmaxColumnsFn = void (*)(const void* x, void* out, int64_t stride, int64_t n,
                                     int64_t cols);
// dx = dy - exp(out) * sum(dy).
using LogSoftmaxBackwardRowFn = void (*)(const void* dy, const void* out, void* dx, int64_t n);
using LogSoftmaxBackwardColumnsFn = void (*)(const void* dy, const void* out, void* dx,
                                             int64_t stride, int64_t n, int64_t cols);

struct SoftmaxLoops {
  LogSoftmaxRowFn row[kNumDataTypes];  // nullptr: dtype not supported
  LogSoftmaxColumnsFn columns[kNumDataTypes];
  LogSoftmaxBackwardRowFn backward_row[kNumDataTypes];
  LogSoftmaxBackwardColumnsFn backward_columns[kNumDataTypes];
};

ONEFLOW_DECLARE_ISA_TABLE(SoftmaxLoops, GetSoftmaxLoops);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_SOFTMAX_LOOPS_H_
