// Rows of every other pixel, one table for each instruction set.
//
// Thread safety: constants.
#ifndef ONEFLOW_KERNELS_CPU_CONV_PIXEL_LOOPS_H_
#define ONEFLOW_KERNELS_CPU_CONV_PIXEL_LOOPS_H_

#include <cstdint>

#include "oneflow/kernels/cpu/isa.h"

namespace oneflow {
namespace cpu {

// T: as wide as an element.
template <typename T>
struct PixelLoopsOf {
  // to[i] = row[i * stride] for i below n.
  void (*take)(const T* row, int64_t stride, int64_t n, T* to);
  // row[i * stride] = from[i] for i below n, zeros between them and up to `width`.
  // REQUIRES (n - 1) * stride < width.
  void (*put)(const T* from, int64_t stride, int64_t n, int64_t width, T* row);
};

struct PixelLoops {
  PixelLoopsOf<uint32_t> wide;
  PixelLoopsOf<uint16_t> half;
};

ONEFLOW_DECLARE_ISA_TABLE(PixelLoops, GetPixelLoops);

template <typename T>
inline const PixelLoopsOf<T>& GetPixelLoopsOf() {
  if constexpr (sizeof(T) == sizeof(uint16_t)) {
    return GetPixelLoops().half;
  } else {
    return GetPixelLoops().wide;
  }
}

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_CONV_PIXEL_LOOPS_H_
