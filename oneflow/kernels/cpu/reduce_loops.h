// The dense inner loops of sum, mean and argmax, one table for each instruction set.
//
// Floating-point numbers are added up in double, integers in uint64_t, which wraps. The order of
// additions is fixed (16 running sums, folded at the end), so every instruction set and every
// number of threads gives the same bits. Thread safety: constants.
#ifndef ONEFLOW_KERNELS_CPU_REDUCE_LOOPS_H_
#define ONEFLOW_KERNELS_CPU_REDUCE_LOOPS_H_

#include <cstdint>

#include "oneflow/core/dtype.h"
#include "oneflow/kernels/cpu/isa.h"

namespace oneflow {
namespace cpu {

// Columns that a column loop takes at most.
inline constexpr int64_t kColumnTile = 256;

// A running sum; which member counts depends on the dtype.
union Sum {
  double d;
  uint64_t u;
};

// *sum += x[0] + ... + x[n - 1].
using SumRowFn = void (*)(const void* x, int64_t n, Sum* sum);
// sums[j] += x[r * row_stride + j] for all r in order; row_stride in elements.
using SumColumnsFn = void (*)(const void* x, int64_t row_stride, int64_t rows, int64_t cols,
                              Sum* sums);
// Among x[0..n) and x[best]: the first largest; a NaN is larger than all numbers. Returns its
// index, counted from x, or -1 if the element at `best` (nullptr: none) stays.
using ArgmaxRowFn = int64_t (*)(const void* x, int64_t n, const void* best);
// index[j] = r of the first largest x[r * row_stride + j]. REQUIRES rows >= 1, cols <= kColumnTile.
using ArgmaxColumnsFn = void (*)(const void* x, int64_t row_stride, int64_t rows, int64_t cols,
                                 int64_t* index);

struct ReduceLoops {
  SumRowFn sum_row[kNumDataTypes];  // nullptr: dtype not supported
  SumColumnsFn sum_columns[kNumDataTypes];
  ArgmaxRowFn argmax_row[kNumDataTypes];
  ArgmaxColumnsFn argmax_columns[kNumDataTypes];
};

ONEFLOW_DECLARE_ISA_TABLE(ReduceLoops, GetReduceLoops);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_REDUCE_LOOPS_H_
