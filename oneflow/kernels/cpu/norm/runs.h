// Runs: where the elements of one channel lie, in planes. Thread safety: a value.
#ifndef ONEFLOW_KERNELS_CPU_NORM_RUNS_H_
#define ONEFLOW_KERNELS_CPU_NORM_RUNS_H_

#include <cstdint>

namespace oneflow {
namespace cpu {

// `count` runs of n neighbouring elements, `step` apart.
struct Runs {
  int64_t count = 0;
  int64_t step = 0;
  int64_t n = 0;
};

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_NORM_RUNS_H_
