// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/conv/pixel_loops.h"

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

template <typename T>
void Take(const T* row, int64_t stride, int64_t n, T* to) {
  if (stride == 2) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) { to[i] = row[2 * i]; }
    return;
  }
  for (int64_t i = 0; i < n; ++i) { to[i] = row[i * stride]; }
}

template <typename T>
void Put(const T* from, int64_t stride, int64_t n, int64_t width, T* row) {
  if (stride == 2 && n > 0) {
    // All but the last, with the zeros behind them.
#pragma GCC ivdep
    for (int64_t i = 0; i < n - 1; ++i) {
      row[2 * i] = from[i];
      row[2 * i + 1] = 0;
    }
    row[2 * n - 2] = from[n - 1];
    for (int64_t i = 2 * n - 1; i < width; ++i) { row[i] = 0; }
    return;
  }
  for (int64_t i = 0; i < width; ++i) { row[i] = 0; }
  for (int64_t i = 0; i < n; ++i) { row[i * stride] = from[i]; }
}

constexpr PixelLoops kLoops = {{&Take<uint32_t>, &Put<uint32_t>},
                               {&Take<uint16_t>, &Put<uint16_t>}};

}  // namespace

const PixelLoops& GetPixelLoops() { return kLoops; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
