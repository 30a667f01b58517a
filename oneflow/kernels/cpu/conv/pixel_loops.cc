// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/conv/pixel_loops.h"

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

void Take(const float* row, int64_t stride, int64_t n, float* to) {
  if (stride == 2) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) { to[i] = row[2 * i]; }
    return;
  }
  for (int64_t i = 0; i < n; ++i) { to[i] = row[i * stride]; }
}

void Put(const float* from, int64_t stride, int64_t n, int64_t width, float* row) {
  if (stride == 2 && n > 0) {
    // All but the last, with the zeros behind them.
#pragma GCC ivdep
    for (int64_t i = 0; i < n - 1; ++i) {
      row[2 * i] = from[i];
      row[2 * i + 1] = 0.0F;
    }
    row[2 * n - 2] = from[n - 1];
    for (int64_t i = 2 * n - 1; i < width; ++i) { row[i] = 0.0F; }
    return;
  }
  for (int64_t i = 0; i < width; ++i) { row[i] = 0.0F; }
  for (int64_t i = 0; i < n; ++i) { row[i * stride] = from[i]; }
}

constexpr PixelLoops kLoops = {&Take, &Put};

}  // namespace

const PixelLoops& GetPixelLoops() { return kLoops; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
