// The inner loops of pooling, one table for each instruction set.
//
// A window is folded in two steps: whole rows of the image into one line (Start, then Merge or Add
// for each further row), then the line into the results (Across). Thread safety: constants.
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

// I: an integer as wide as T, so that the compiler vectorises both alike. Among equal maxima that
// with the smallest index counts; NaN beats all, the last one the others.
template <typename T, typename I>
struct PoolLoopsOf {
  // best[i] = row[i], index[i] = base + i.
  void (*max_start)(const T* row, I base, T* best, I* index, int64_t n);
  // REQUIRES that bases come in rising order.
  void (*max_merge)(const T* row, I base, T* best, I* index, int64_t n);
  void (*max_across)(const T* best, const I* index, const LineWindows& windows, T* out,
                     I* out_index);
  // The same for a line that is a row of the image: which element of its window each maximum is.
  void (*max_line)(const T* line, const LineWindows& windows, T* out, I* element);
  // sum[i] += row[i].
  void (*add)(const T* row, T* sum, int64_t n);
  void (*sum_across)(const T* sum, const LineWindows& windows, T* out);
  // line[o * stride + k * dilation] += value[o].
  void (*spread_across)(const T* value, const LineWindows& windows, T* line);
  T (*sum_of)(const T* line, int64_t n);
};

struct PoolLoops {
  PoolLoopsOf<float, int32_t> single;
  PoolLoopsOf<double, int64_t> wide;
};

ONEFLOW_DECLARE_ISA_TABLE(PoolLoops, GetPoolLoops);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_POOL_POOL_LOOPS_H_
