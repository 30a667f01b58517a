// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/pool/blocked_pool_loops.h"

#include "oneflow/kernels/cpu/block_lanes.h"

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

typedef uint8_t Bytes __attribute__((vector_size(kLanes)));

template <typename T>
void MaxRow(const T* plane, const PoolWindows& rows, const PoolWindows& columns, int64_t row,
            int64_t count, T* out, uint8_t* numbers) {
  const int64_t top = rows.Begin(row);
  const int64_t bottom = rows.End(row);
  const int64_t above = (top - rows.First(row)) / rows.dilation * columns.kernel;
  for (int64_t o = 0; o < count; ++o) {
    const int64_t left = columns.Begin(o);
    const int64_t right = columns.End(o);
    const int64_t before = (left - columns.First(o)) / columns.dilation;
    for (int64_t lane = 0; lane < kPixel; lane += kLanes) {
      Lanes best = Lanes{} - __builtin_inff();
      Bits where = {};
      Bits any = Bits{} - 1;  // the first element is taken, whatever it is
      int64_t line = above + before;
      for (int64_t r = top; r < bottom; r += rows.dilation, line += columns.kernel) {
        int64_t number = line;
        for (int64_t c = left; c < right; c += columns.dilation, ++number) {
          const Lanes x = Load(plane + (r * columns.in + c) * kPixel + lane);
          const Bits takes = (x > best) | (x != x) | any;
          best = takes ? x : best;
          where = takes ? Bits{} + static_cast<int32_t>(number) : where;
          any = Bits{};
        }
      }
      Store(out + o * kPixel + lane, best);
      const Bytes bytes = __builtin_convertvector(where, Bytes);
      __builtin_memcpy(numbers + o * kPixel + lane, &bytes, sizeof(bytes));
    }
  }
}

// Adds the gradients of a row of maxima to the row of the image that is the first of their windows' elements
// [first, first + columns.kernel).
template <typename T>
ONEFLOW_INLINE void AddWindows(const T* dy, const uint8_t* numbers, const PoolWindows& columns,
                               int64_t wide, int64_t first, float* line) {
  for (int64_t o = 0; o < wide; ++o) {
    for (int64_t lane = 0; lane < kPixel; lane += kLanes) {
      const Lanes g = Load(dy + o * kPixel + lane);
      Bytes bytes;
      __builtin_memcpy(&bytes, numbers + o * kPixel + lane, sizeof(bytes));
      const Bits where = __builtin_convertvector(bytes, Bits) - static_cast<int32_t>(first);
      int64_t c = columns.First(o);
      for (int32_t k = 0; k < columns.kernel; ++k, c += columns.dilation) {
        if (c < 0 || c >= columns.in) { continue; }
        float* at = line + c * kPixel + lane;
        Store(at, Load(at) + Where(where == k, g));
      }
    }
  }
}

template <typename T>
void GradientRow(const T* dy, const uint8_t* numbers, const PoolWindows& rows,
                 const PoolWindows& columns, int64_t row, int64_t high, int64_t wide, float* line,
                 T* out) {
  const int64_t count = columns.in * kPixel;
  __builtin_memset(line, 0, static_cast<size_t>(count) * sizeof(float));
  for (int64_t k = rows.kernel - 1; k >= 0; --k) {
    const int64_t first =
        row + rows.padding - k * rows.dilation;  // of the window, times the stride
    if (first < 0 || first % rows.stride != 0 || first / rows.stride >= high) { continue; }
    const int64_t at = first / rows.stride * wide * kPixel;
    AddWindows(dy + at, numbers + at, columns, wide, k * columns.kernel, line);
  }
  for (int64_t i = 0; i < count; i += kLanes) { Store(out + i, Load(line + i)); }
}

constexpr BlockedPoolLoops kLoops = {{&MaxRow<float>, &GradientRow<float>},
                                     {&MaxRow<uint16_t>, &GradientRow<uint16_t>}};

}  // namespace

const BlockedPoolLoops& GetBlockedPoolLoops() { return kLoops; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
