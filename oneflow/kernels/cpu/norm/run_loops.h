// The inner loops of batch normalisation over the runs of one channel, one table for each
// instruction set.
//
// Sums are kept in lanes over the ends of runs, which may be short, and emptied into a double now and
// then, in an order that depends on how many and how long the runs are alone. Outputs may be the same array as an input.
// Arrays are of E, which is T or, with T = float, BFloat16.
// Thread safety: constants.
#ifndef ONEFLOW_KERNELS_CPU_NORM_RUN_LOOPS_H_
#define ONEFLOW_KERNELS_CPU_NORM_RUN_LOOPS_H_

#include "oneflow/kernels/cpu/bfloat16.h"
#include "oneflow/kernels/cpu/isa.h"
#include "oneflow/kernels/cpu/norm/runs.h"

namespace oneflow {
namespace cpu {

template <typename T, typename E = T>
struct RunLoopsOf {
  double (*sum)(const E* x, const Runs& runs);
  double (*sum_squares)(const E* x, const Runs& runs, T mean);  // of x - mean
  // The sums of dy and of dy * (x - mean).
  void (*sums)(const E* dy, const E* x, const Runs& runs, T mean, double* sum_dy, double* sum_dyx);
  // out = (x - mean) * scale + shift
  void (*normalize)(const E* x, E* out, const Runs& runs, T mean, T scale, T shift);
  // dx = (dy - m - (x - mean) * k) * scale
  void (*backward)(const E* dy, const E* x, E* dx, const Runs& runs, T mean, T m, T k, T scale);
};

struct RunLoopTable {
  RunLoopsOf<float, float> single;
  RunLoopsOf<double, double> twice;
  RunLoopsOf<float, BFloat16> half;
};

ONEFLOW_DECLARE_ISA_TABLE(RunLoopTable, GetRunLoopTable);

template <typename T, typename E = T>
inline const RunLoopsOf<T, E>& GetRunLoops() {
  if constexpr (sizeof(E) == sizeof(BFloat16)) {
    return GetRunLoopTable().half;
  } else if constexpr (sizeof(E) == sizeof(float)) {
    return GetRunLoopTable().single;
  } else {
    return GetRunLoopTable().twice;
  }
}

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_NORM_RUN_LOOPS_H_
