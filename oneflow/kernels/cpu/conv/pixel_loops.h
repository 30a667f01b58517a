// Rows of every other pixel, one table for each instruction set.
//
// Thread safety: constants.
#ifndef ONEFLOW_KERNELS_CPU_CONV_PIXEL_LOOPS_H_
#define ONEFLOW_KERNELS_CPU_CONV_PIXEL_LOOPS_H_

#include <cstdint>

#include "oneflow/kernels/cpu/isa.h"

namespace oneflow {
namespace cpu {

struct PixelLoops {
  // to[i] = row[i * stride] for i below n.
  void (*take)(const float* row, int64_t stride, int64_t n, float* to);
  // row[i * stride] = from[i] for i below n, zeros between them and up to `width`.
  // REQUIRES (n - 1) * stride < width.
  void (*put)(const float* from, int64_t stride, int64_t n, int64_t width, float* row);
};

ONEFLOW_DECLARE_ISA_TABLE(PixelLoops, GetPixelLoops);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_CONV_PIXEL_LOOPS_H_
