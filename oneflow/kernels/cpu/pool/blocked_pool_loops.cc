// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/pool/blocked_pool_loops.h"

#include "oneflow/kernels/cpu/vector_width.h"

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

// Some of a pixel's 16 numbers: all of them where registers are that wide.
typedef float Lanes __attribute__((vector_size(kVectorBytes)));
typedef int32_t Bits __attribute__((vector_size(kVectorBytes)));
constexpr int64_t kPixel = 16;
constexpr int64_t kLanes = kVectorLanes<float>;

void MaxRow(const float* plane, const PoolWindows& rows, const PoolWindows& columns, int64_t row,
            int64_t count, float* out, int32_t* index) {
  const int64_t top = rows.Begin(row);
  const int64_t bottom = rows.End(row);
  for (int64_t o = 0; o < count; ++o) {
    const int64_t left = columns.Begin(o);
    const int64_t right = columns.End(o);
    for (int64_t lane = 0; lane < kPixel; lane += kLanes) {
      Lanes best = Lanes{} - __builtin_inff();
      Bits where = {};
      Bits any = Bits{} - 1;  // the first element is taken, whatever it is
      for (int64_t r = top; r < bottom; r += rows.dilation) {
        for (int64_t c = left; c < right; c += columns.dilation) {
          const int64_t pixel = r * columns.in + c;
          Lanes x;
          __builtin_memcpy(&x, plane + pixel * kPixel + lane, sizeof(x));
          const Bits takes = (x > best) | (x != x) | any;
          best = takes ? x : best;
          where = takes ? Bits{} + static_cast<int32_t>(pixel) : where;
          any = Bits{};
        }
      }
      __builtin_memcpy(out + o * kPixel + lane, &best, sizeof(best));
      __builtin_memcpy(index + o * kPixel + lane, &where, sizeof(where));
    }
  }
}

constexpr BlockedPoolLoops kLoops = {&MaxRow};

}  // namespace

const BlockedPoolLoops& GetBlockedPoolLoops() { return kLoops; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
