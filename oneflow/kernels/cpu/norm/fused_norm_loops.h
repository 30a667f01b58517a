// The inner loops of batch norm together with what follows it, one table for each instruction set.
//
// Loops go over the runs of one channel. Sums are taken as in run_loops.h, so that results have the
// bits of the separate ops. `stream`: results go past the caches; they must be aligned to a
// line then, and be no operand.
// Thread safety: constants. A thread that streamed calls StreamLoops::fence before others may read.
#ifndef ONEFLOW_KERNELS_CPU_NORM_FUSED_NORM_LOOPS_H_
#define ONEFLOW_KERNELS_CPU_NORM_FUSED_NORM_LOOPS_H_

#include <cstdint>

#include "oneflow/kernels/cpu/isa.h"
#include "oneflow/kernels/cpu/norm/runs.h"

namespace oneflow {
namespace cpu {

// The gradient that arrives at batch norm: dy + more, 0 where `result` is not positive. `more` and
// `result` may be nullptr.
template <typename T>
struct FusedGradient {
  const T* dy = nullptr;
  const T* more = nullptr;
  const T* result = nullptr;

  FusedGradient At(int64_t i) const {
    return {dy + i, more == nullptr ? nullptr : more + i, result == nullptr ? nullptr : result + i};
  }
};

template <typename T>
struct FusedNormLoops {
  // out[i] = (x[i] - mean) * scale + shift + addend[i], with `relu` at least 0; addend may be nullptr.
  void (*run)(const T* x, const T* addend, T* out, const Runs& runs, T mean, T scale, T shift,
              bool relu, bool stream);
  // The sums of the gradient g and of g * (x - mean); g itself into `kept`, unless that is nullptr.
  void (*sums)(const FusedGradient<T>& g, const T* x, T* kept, const Runs& runs, T mean,
               double* sum_g, double* sum_gx);
  // dx[i] = (g[i] - m - (x[i] - mean) * k) * scale
  void (*backward)(const FusedGradient<T>& g, const T* x, T* dx, const Runs& runs, T mean, T m, T k,
                   T scale, bool stream);
};

struct FusedNormLoopTable {
  FusedNormLoops<float> single;
  FusedNormLoops<double> twice;
};

ONEFLOW_DECLARE_ISA_TABLE(FusedNormLoopTable, GetFusedNormLoopTable);

template <typename T>
inline const FusedNormLoops<T>& GetFusedNormLoops() {
  if constexpr (sizeof(T) == sizeof(float)) {
    return GetFusedNormLoopTable().single;
  } else {
    return GetFusedNormLoopTable().twice;
  }
}

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_NORM_FUSED_NORM_LOOPS_H_
