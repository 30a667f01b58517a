// The inner loops of batch norm over blocks of 16 channels that lie side by side, one table for each instruction set.
//
// A pixel is 16 neighbouring numbers, one for each channel of the block, in float32 or in bfloat16 (T: uint16_t, its bits;
// computed in float32, and rounded where stored); means and factors are given for each of the 16. `stream`: results go past the caches; they must be aligned to 64 bytes then, and be no
// operand. Sums are taken for each channel apart, in an order that depends on the number of pixels alone.
// Thread safety: constants. A thread that streamed calls StreamLoops::fence before others may read.
#ifndef ONEFLOW_KERNELS_CPU_NORM_BLOCK_NORM_LOOPS_H_
#define ONEFLOW_KERNELS_CPU_NORM_BLOCK_NORM_LOOPS_H_

#include <cstdint>

#include "oneflow/kernels/cpu/isa.h"
#include "oneflow/kernels/cpu/norm/fused_norm_loops.h"

namespace oneflow {
namespace cpu {

// Pixels whose sums are taken in float: they fit the first-level cache.
inline constexpr int64_t kBlockStretch = 256;

template <typename T>
struct BlockNormLoops {
  // Of at most kBlockStretch pixels: the mean of each channel, and the sum of squares around it.
  void (*moments)(const T* x, int64_t pixels, float* mean, float* squares);
  // As FusedNormLoops::run.
  void (*run)(const T* x, const T* addend, T* out, int64_t pixels, const float* mean,
              const float* scale, const float* shift, bool relu, bool stream);
  // As FusedNormLoops::sums, added to what the sums hold. Where the gradient is kept, as it is stored.
  void (*sums)(const FusedGradient<T>& g, const T* x, T* kept, int64_t pixels, const float* mean,
               double* sum_g, double* sum_gx);
  // As FusedNormLoops::backward.
  void (*backward)(const FusedGradient<T>& g, const T* x, T* dx, int64_t pixels, const float* mean,
                   const float* m, const float* k, const float* scale, bool stream);
};

struct BlockNormLoopTable {
  BlockNormLoops<float> single;
  BlockNormLoops<uint16_t> brief;
};

ONEFLOW_DECLARE_ISA_TABLE(BlockNormLoopTable, GetBlockNormLoopTable);

template <typename T>
inline const BlockNormLoops<T>& GetBlockNormLoops() {
  if constexpr (sizeof(T) == sizeof(float)) {
    return GetBlockNormLoopTable().single;
  } else {
    return GetBlockNormLoopTable().brief;
  }
}

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_NORM_BLOCK_NORM_LOOPS_H_
