// The inner loops of batch norm together with what follows it, one table for each instruction set.
//
// Loops go over the runs of one channel. Sums are taken as in run_loops.h, so that results have the
// bits of the separate ops. `stream`: results go past the caches; they must be aligned to a
// line then, and be no operand.
// Arrays are of E, which is T or, with T = float, BFloat16: sums of two are rounded to that, as the separate ops do.
// Thread safety: constants. A thread that streamed calls StreamLoops::fence before others may read.
#ifndef ONEFLOW_KERNELS_CPU_NORM_FUSED_NORM_LOOPS_H_
#define ONEFLOW_KERNELS_CPU_NORM_FUSED_NORM_LOOPS_H_

#include <cstdint>

#include "oneflow/kernels/cpu/bfloat16.h"
#include "oneflow/kernels/cpu/isa.h"
#include "oneflow/kernels/cpu/norm/runs.h"

namespace oneflow {
namespace cpu {

// The gradient that arrives at batch norm: dy + more, 0 where `result` is not positive. `more` and
// `result` may be nullptr.
template <typename E>
struct FusedGradient {
  const E* dy = nullptr;
  const E* more = nullptr;
  const E* result = nullptr;

  FusedGradient At(int64_t i) const {
    return {dy + i, more == nullptr ? nullptr : more + i, result == nullptr ? nullptr : result + i};
  }
};

template <typename T, typename E = T>
struct FusedNormLoops {
  // out[i] = (x[i] - mean) * scale + shift + addend[i], with `relu` at least 0; addend may be nullptr.
  void (*run)(const E* x, const E* addend, E* out, const Runs& runs, T mean, T scale, T shift,
              bool relu, bool stream);
  // The sums of the gradient g and of g * (x - mean); g itself into `kept`, unless that is nullptr.
  void (*sums)(const FusedGradient<E>& g, const E* x, E* kept, const Runs& runs, T mean,
               double* sum_g, double* sum_gx);
  // dx[i] = (g[i] - m - (x[i] - mean) * k) * scale
  void (*backward)(const FusedGradient<E>& g, const E* x, E* dx, const Runs& runs, T mean, T m, T k,
                   T scale, bool stream);
};

struct FusedNormLoopTable {
  FusedNormLoops<float, float> single;
  FusedNormLoops<double, double> twice;
  FusedNormLoops<float, BFloat16> half;
};

ONEFLOW_DECLARE_ISA_TABLE(FusedNormLoopTable, GetFusedNormLoopTable);

template <typename T, typename E = T>
inline const FusedNormLoops<T, E>& GetFusedNormLoops() {
  if constexpr (sizeof(E) == sizeof(BFloat16)) {
    return GetFusedNormLoopTable().half;
  } else if constexpr (sizeof(E) == sizeof(float)) {
    return GetFusedNormLoopTable().single;
  } else {
    return GetFusedNormLoopTable().twice;
  }
}

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_NORM_FUSED_NORM_LOOPS_H_
