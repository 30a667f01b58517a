// The inner loops of max pooling, one table for each instruction set.
//
// Where windows are fixed, a row of the image is folded into the maxima of its own parts of the
// windows (Split, then Row), and then the rows of a window are folded (Rows). Elements come in the
// order of the image, so the first of equal maxima counts, and NaN beats all, the last one the
// others. Thread safety: constants.
#ifndef ONEFLOW_KERNELS_CPU_POOL_MAX_LOOPS_H_
#define ONEFLOW_KERNELS_CPU_POOL_MAX_LOOPS_H_

#include <cstdint>

#include "oneflow/kernels/cpu/isa.h"

namespace oneflow {
namespace cpu {

// Results that a loop takes at once: buffers have room for a multiple of it.
inline constexpr int64_t kMaxBlock = 16;
// Up to this stride a row is split: element j of the padded row goes to place j / stride of part
// j % stride, and what a window takes of it lies side by side for neighbouring windows.
inline constexpr int64_t kMaxSplit = 4;
// Elements of the windows that `pairs` takes.
inline constexpr int64_t kMaxPairs = 3;
// Rows that are folded at once.
inline constexpr int kMaxRows = 3;

// The windows along a row: result o takes elements o * stride + k * dilation, k < kernel, of it.
struct RowWindows {
  int64_t out = 0;  // a multiple of kMaxBlock where the row is split
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t before = 0;  // padding in front of the image's row
  int64_t pitch = 0;   // from one part of the row to the next
  bool IsSplit() const { return stride <= kMaxSplit; }
};

// The maxima of one row, where in the row they are, and where the row begins.
template <typename T, typename I>
struct RowMaxima {
  const T* best;
  const I* column;
  I base;
};

template <typename T, typename I>
struct MaxLoopsOf {
  // Lays n elements of a row out, behind the padding.
  void (*split)(const T* row, int64_t n, const RowWindows& windows, T* line);
  void (*row)(const T* line, const RowWindows& windows, T* best, I* column);
  // The same for a row of n elements as it lies in the image, where windows are of at most kMaxPairs
  // elements with a stride of 2; nullptr: there is no such loop.
  void (*pairs)(const T* row, int64_t n, const RowWindows& windows, T* best, I* column);
  // Folds `count` <= kMaxRows rows; n is a multiple of kMaxBlock.
  void (*rows)(const RowMaxima<T, I>* rows, int count, int64_t n, T* out, int64_t* where);
  void (*part)(const RowMaxima<T, I>* rows, int count, int64_t n, T* out, I* where);

  // For windows of many sizes, which fold rows first: best[i] = row[i], index[i] = base + i; then
  // further rows, in rising order.
  void (*start)(const T* row, I base, T* best, I* index, int64_t n);
  void (*merge)(const T* row, I base, T* best, I* index, int64_t n);
};

struct MaxLoops {
  MaxLoopsOf<float, int32_t> single;
  MaxLoopsOf<double, int64_t> wide;
};

ONEFLOW_DECLARE_ISA_TABLE(MaxLoops, GetMaxLoops);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_POOL_MAX_LOOPS_H_
