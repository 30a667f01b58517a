// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/pool/pool_loops.h"

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

// to[o] = from[o * stride].
template <typename T, int kStride>
void TakeElement(const T* from, int64_t stride, int64_t n, T* to) {
  const int64_t step = kStride == 0 ? stride : kStride;
#pragma GCC ivdep
  for (int64_t o = 0; o < n; ++o) { to[o] = from[o * step]; }
}

template <typename T>
void Take(const T* from, const LineWindows& w, T* to) {
  switch (w.stride) {
    case 1: return TakeElement<T, 1>(from, 1, w.out, to);
    case 2: return TakeElement<T, 2>(from, 2, w.out, to);
    default: return TakeElement<T, 0>(from, w.stride, w.out, to);
  }
}

template <typename T>
void Add(const T* row, T* sum, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) { sum[i] += row[i]; }
}

template <typename T, int kStride>
void SumElement(const T* sum, int64_t stride, int64_t n, T* out) {
  const int64_t step = kStride == 0 ? stride : kStride;
#pragma GCC ivdep
  for (int64_t o = 0; o < n; ++o) { out[o] += sum[o * step]; }
}

template <typename T>
void SumAcross(const T* sum, const LineWindows& w, T* out) {
  Take(sum, w, out);
  for (int64_t k = 1; k < w.kernel; ++k) {
    const T* from = sum + k * w.dilation;
    switch (w.stride) {
      case 1: SumElement<T, 1>(from, 1, w.out, out); break;
      case 2: SumElement<T, 2>(from, 2, w.out, out); break;
      default: SumElement<T, 0>(from, w.stride, w.out, out); break;
    }
  }
}

template <typename T, int kStride>
void SpreadElement(const T* value, int64_t stride, int64_t n, T* line) {
  const int64_t step = kStride == 0 ? stride : kStride;
#pragma GCC ivdep
  for (int64_t o = 0; o < n; ++o) { line[o * step] += value[o]; }
}

template <typename T>
void SpreadAcross(const T* value, const LineWindows& w, T* line) {
  for (int64_t k = 0; k < w.kernel; ++k) {
    T* to = line + k * w.dilation;
    switch (w.stride) {
      case 1: SpreadElement<T, 1>(value, 1, w.out, to); break;
      case 2: SpreadElement<T, 2>(value, 2, w.out, to); break;
      default: SpreadElement<T, 0>(value, w.stride, w.out, to); break;
    }
  }
}

// Partial sums, as many whatever the registers hold: the order of additions is the same everywhere.
template <typename T>
struct Lanes {
  typedef T Sixteen __attribute__((vector_size(16 * sizeof(T))));
  typedef T Eight __attribute__((vector_size(8 * sizeof(T))));
  typedef T Four __attribute__((vector_size(4 * sizeof(T))));
};

template <typename T>
T SumOf(const T* line, int64_t n) {
  typename Lanes<T>::Sixteen sums[4] = {};
  typename Lanes<T>::Sixteen part[4];
  int64_t i = 0;
  for (; i + 64 <= n; i += 64) {
    __builtin_memcpy(part, line + i, sizeof(part));
    for (int k = 0; k < 4; ++k) { sums[k] += part[k]; }
  }
  for (; i + 16 <= n; i += 16) {
    __builtin_memcpy(part, line + i, sizeof(part[0]));
    sums[0] += part[0];
  }
  T rest = 0;
  for (; i < n; ++i) { rest += line[i]; }
  sums[0] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  typename Lanes<T>::Eight eight[2];
  __builtin_memcpy(eight, sums, sizeof(eight));
  eight[0] += eight[1];
  typename Lanes<T>::Four four[2];
  __builtin_memcpy(four, eight, sizeof(four));
  four[0] += four[1];
  return ((four[0][0] + four[0][2]) + (four[0][1] + four[0][3])) + rest;
}

template <typename T>
constexpr PoolLoopsOf<T> LoopsOf() {
  return {&Add<T>, &SumAcross<T>, &SpreadAcross<T>, &SumOf<T>};
}

constexpr PoolLoops kLoops = {LoopsOf<float>(), LoopsOf<double>()};

}  // namespace

const PoolLoops& GetPoolLoops() { return kLoops; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
