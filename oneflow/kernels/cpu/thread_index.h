// The number of the calling thread inside a ParallelFor: to find its part of the call's scratch.
//
// Thread safety: from anywhere.
#ifndef ONEFLOW_KERNELS_CPU_THREAD_INDEX_H_
#define ONEFLOW_KERNELS_CPU_THREAD_INDEX_H_

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace oneflow {
namespace cpu {

// In [0, threads) of the call; 0 where the work is not split.
inline int ThreadIndex() {
#if defined(_OPENMP)
  return omp_get_thread_num();
#else
  return 0;
#endif
}

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_THREAD_INDEX_H_
