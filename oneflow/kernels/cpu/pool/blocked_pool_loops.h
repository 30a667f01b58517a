// The inner loop of pooling over blocks of 16 channels that lie side by side, one for each instruction set.
//
// Thread safety: constants.
#ifndef ONEFLOW_KERNELS_CPU_POOL_BLOCKED_POOL_LOOPS_H_
#define ONEFLOW_KERNELS_CPU_POOL_BLOCKED_POOL_LOOPS_H_

#include <cstdint>

#include "oneflow/kernels/cpu/isa.h"

namespace oneflow {
namespace cpu {

// Windows along one dimension of `in` elements. What window o takes of them: Begin(o), Begin(o) + dilation, ..., below
// End(o).
struct PoolWindows {
  int64_t in, kernel, stride, padding, dilation;

  int64_t Begin(int64_t o) const {
    const int64_t begin = o * stride - padding;
    return begin >= 0 ? begin : begin + (dilation - 1 - begin) / dilation * dilation;
  }
  int64_t End(int64_t o) const {
    const int64_t end = o * stride - padding + (kernel - 1) * dilation + 1;
    return end < in ? end : in;
  }
};

struct BlockedPoolLoops {
  // Row `row` of the results of one plane, `count` pixels of 16 channels: the maxima, and the pixel of each, counted from
  // the start of the plane. Among equal maxima the first counts; NaN beats all, the last one the others.
  void (*max_row)(const float* plane, const PoolWindows& rows, const PoolWindows& columns,
                  int64_t row, int64_t count, float* out, int32_t* index);
};

ONEFLOW_DECLARE_ISA_TABLE(BlockedPoolLoops, GetBlockedPoolLoops);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_POOL_BLOCKED_POOL_LOOPS_H_
