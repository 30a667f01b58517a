// The inner loop of max pooling by windows of two by two that lie side by side, one for each
// instruction set. Thread safety: constants.
#ifndef ONEFLOW_KERNELS_CPU_POOL_MAX_PAIRS_LOOPS_H_
#define ONEFLOW_KERNELS_CPU_POOL_MAX_PAIRS_LOOPS_H_

#include <cstdint>

#include "oneflow/kernels/cpu/isa.h"

namespace oneflow {
namespace cpu {

struct MaxPairsLoops {
  // One plane of `width` pixels a line. Among equal maxima the first in the image's order counts; NaN
  // beats all, the last one the others. REQUIRES 2 * out_width <= width.
  void (*plane)(const float* image, int64_t width, int64_t out_height, int64_t out_width,
                float* out, int64_t* where);
};

ONEFLOW_DECLARE_ISA_TABLE(MaxPairsLoops, GetMaxPairsLoops);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_POOL_MAX_PAIRS_LOOPS_H_
