// The inner loops of batch normalisation over the runs of one channel, one table for each
// instruction set.
//
// Sums are kept in lanes over the ends of runs, which may be short, and emptied into a double now and
// then, in an order that depends on how many and how long the runs are alone. Outputs may be the same array as an input.
// Thread safety: constants.
#ifndef ONEFLOW_KERNELS_CPU_NORM_RUN_LOOPS_H_
#define ONEFLOW_KERNELS_CPU_NORM_RUN_LOOPS_H_

#include "oneflow/kernels/cpu/isa.h"
#include "oneflow/kernels/cpu/norm/runs.h"

namespace oneflow {
namespace cpu {

template <typename T>
struct RunLoopsOf {
  double (*sum)(const T* x, const Runs& runs);
  double (*sum_squares)(const T* x, const Runs& runs, T mean);  // of x - mean
  // The sums of dy and of dy * (x - mean).
  void (*sums)(const T* dy, const T* x, const Runs& runs, T mean, double* sum_dy, double* sum_dyx);
  // out = (x - mean) * scale + shift
  void (*normalize)(const T* x, T* out, const Runs& runs, T mean, T scale, T shift);
  // dx = (dy - m - (x - mean) * k) * scale
  void (*backward)(const T* dy, const T* x, T* dx, const Runs& runs, T mean, T m, T k, T scale);
};

struct RunLoopTable {
  RunLoopsOf<float> single;
  RunLoopsOf<double> twice;
};

ONEFLOW_DECLARE_ISA_TABLE(RunLoopTable, GetRunLoopTable);

template <typename T>
inline const RunLoopsOf<T>& GetRunLoops() {
  if constexpr (sizeof(T) == sizeof(float)) {
    return GetRunLoopTable().single;
  } else {
    return GetRunLoopTable().twice;
  }
}

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_NORM_RUN_LOOPS_H_
