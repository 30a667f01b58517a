// The inner loops of averages over windows, one table for each instruction set.
//
// A window is folded in two steps: whole rows of the image into one line (Add for each further row),
// then the line into the results (Across). Thread safety: constants.
#ifndef ONEFLOW_KERNELS_CPU_POOL_POOL_LOOPS_H_
#define ONEFLOW_KERNELS_CPU_POOL_POOL_LOOPS_H_

#include <cstdint>

#include "oneflow/kernels/cpu/isa.h"

namespace oneflow {
namespace cpu {

// Windows along a line: result o takes elements o * stride + k * dilation, k < kernel, of the line.
struct LineWindows {
  int64_t out = 0;
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
};

template <typename T>
struct PoolLoopsOf {
  // sum[i] += row[i].
  void (*add)(const T* row, T* sum, int64_t n);
  void (*sum_across)(const T* sum, const LineWindows& windows, T* out);
  // line[o * stride + k * dilation] += value[o].
  void (*spread_across)(const T* value, const LineWindows& windows, T* line);
  T (*sum_of)(const T* line, int64_t n);
};

struct PoolLoops {
  PoolLoopsOf<float> single;
  PoolLoopsOf<double> wide;
};

ONEFLOW_DECLARE_ISA_TABLE(PoolLoops, GetPoolLoops);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_POOL_POOL_LOOPS_H_
