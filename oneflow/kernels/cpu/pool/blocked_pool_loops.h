// The inner loops of pooling over blocks of 16 channels that lie side by side, one table for each instruction set.
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

  int64_t First(int64_t o) const { return o * stride - padding; }  // may lie outside
  int64_t Begin(int64_t o) const {
    const int64_t begin = First(o);
    return begin >= 0 ? begin : begin + (dilation - 1 - begin) / dilation * dilation;
  }
  int64_t End(int64_t o) const {
    const int64_t end = First(o) + (kernel - 1) * dilation + 1;
    return end < in ? end : in;
  }
};

// Of float, or of bfloat16 (T: uint16_t, its bits).
template <typename T>
struct BlockedPoolLoopsOf {
  // Row `row` of the results of one plane, `count` pixels of 16 channels: the maxima, and the number of each in its window,
  // counted along rows. Among equal maxima the first counts; NaN beats all, the last one the others.
  // REQUIRES windows of at most 256 elements.
  void (*max_row)(const T* plane, const PoolWindows& rows, const PoolWindows& columns, int64_t row,
                  int64_t count, T* out, uint8_t* numbers);
  // Row `row` of the gradient of a plane, from all that of its maxima, `high` rows of `wide` pixels. Sums are taken in
  // `line`, as many floats as the row has numbers, in the order of the maxima.
  void (*gradient_row)(const T* dy, const uint8_t* numbers, const PoolWindows& rows,
                       const PoolWindows& columns, int64_t row, int64_t high, int64_t wide,
                       float* line, T* out);
};

struct BlockedPoolLoops {
  BlockedPoolLoopsOf<float> single;
  BlockedPoolLoopsOf<uint16_t> brief;
};

ONEFLOW_DECLARE_ISA_TABLE(BlockedPoolLoops, GetBlockedPoolLoops);

template <typename T>
inline const BlockedPoolLoopsOf<T>& GetBlockedPoolLoopsOf() {
  if constexpr (sizeof(T) == sizeof(float)) {
    return GetBlockedPoolLoops().single;
  } else {
    return GetBlockedPoolLoops().brief;
  }
}

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_POOL_BLOCKED_POOL_LOOPS_H_
