// Sums of many terms, for loops that the compiler turns into vectors.
//
// Terms go into a fixed number of lanes, whatever the instruction set, so that each gives the same
// bits. Lanes are of the terms' type, emptied into a double every few hundred terms.
// Included only by files that of_isa_kernels() compiles: everything is in an unnamed namespace.
#ifndef ONEFLOW_KERNELS_CPU_LANE_SUMS_H_
#define ONEFLOW_KERNELS_CPU_LANE_SUMS_H_

#include <cstdint>

namespace oneflow {
namespace cpu {
namespace {

constexpr int kSumLanes = 32;
constexpr int kSumTailLanes = 8;
constexpr int64_t kSumStretch = 32 * kSumLanes;  // terms between two emptyings

template <int kCount, typename T>
inline __attribute__((always_inline)) double FoldLanes(T* lanes) {
  for (int width = kCount / 2; width > 0; width /= 2) {
    for (int l = 0; l < width; ++l) { lanes[l] += lanes[l + width]; }
  }
  return static_cast<double>(lanes[0]);
}

// The sum of f(i) for i in [0, n). f may write element i of an array.
template <typename T, typename F>
inline __attribute__((always_inline)) double SumOfTerms(int64_t n, F f) {
  double total = 0.0;
  int64_t i = 0;
  const int64_t whole = n - n % kSumLanes;
  while (i < whole) {
    const int64_t end = i + kSumStretch < whole ? i + kSumStretch : whole;
    T lanes[kSumLanes] = {};
    for (; i < end; i += kSumLanes) {
#pragma GCC ivdep
      for (int l = 0; l < kSumLanes; ++l) { lanes[l] += f(i + l); }
    }
    total += FoldLanes<kSumLanes>(lanes);
  }
  if (i + kSumTailLanes <= n) {
    T lanes[kSumTailLanes] = {};
    for (; i + kSumTailLanes <= n; i += kSumTailLanes) {
#pragma GCC ivdep
      for (int l = 0; l < kSumTailLanes; ++l) { lanes[l] += f(i + l); }
    }
    total += FoldLanes<kSumTailLanes>(lanes);
  }
  for (; i < n; ++i) { total += static_cast<double>(f(i)); }
  return total;
}

// Two sums at once: f(i, &a, &b) gives the terms.
template <typename T, typename F>
inline __attribute__((always_inline)) void SumsOfTerms(int64_t n, double* sum_a, double* sum_b,
                                                       F f) {
  *sum_a = *sum_b = 0.0;
  int64_t i = 0;
  const int64_t whole = n - n % kSumLanes;
  while (i < whole) {
    const int64_t end = i + kSumStretch < whole ? i + kSumStretch : whole;
    T a[kSumLanes] = {}, b[kSumLanes] = {};
    for (; i < end; i += kSumLanes) {
      for (int l = 0; l < kSumLanes; ++l) {
        T x, y;
        f(i + l, &x, &y);
        a[l] += x;
        b[l] += y;
      }
    }
    *sum_a += FoldLanes<kSumLanes>(a);
    *sum_b += FoldLanes<kSumLanes>(b);
  }
  if (i + kSumTailLanes <= n) {
    T a[kSumTailLanes] = {}, b[kSumTailLanes] = {};
    for (; i + kSumTailLanes <= n; i += kSumTailLanes) {
      for (int l = 0; l < kSumTailLanes; ++l) {
        T x, y;
        f(i + l, &x, &y);
        a[l] += x;
        b[l] += y;
      }
    }
    *sum_a += FoldLanes<kSumTailLanes>(a);
    *sum_b += FoldLanes<kSumTailLanes>(b);
  }
  for (; i < n; ++i) {
    T x, y;
    f(i, &x, &y);
    *sum_a += static_cast<double>(x);
    *sum_b += static_cast<double>(y);
  }
}

}  // namespace
}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_LANE_SUMS_H_
