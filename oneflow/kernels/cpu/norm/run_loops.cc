// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/norm/run_loops.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

#define ONEFLOW_RUN_INLINE inline __attribute__((always_inline))

// ---- blocks: four vectors of 64 bytes -----------------------------------------------------------
//
// A block is kBlockLanes<T> neighbouring elements of a run, the last one of a run perhaps fewer. With
// AVX-512 those are taken by masks; elsewhere one by one. Both add in the same order.

constexpr int kVectors = 4;
template <typename T>
constexpr int64_t kBlockLanes = kVectors * 64 / static_cast<int64_t>(sizeof(T));
constexpr int64_t kStretch = 32;  // blocks between two emptyings

#if defined(__AVX512F__)

template <typename T>
struct Vector;
template <>
struct Vector<float> {
  typedef float V __attribute__((vector_size(64)));
  typedef __mmask16 Mask;
  static constexpr int kLanes = 16;
  static ONEFLOW_RUN_INLINE V Load(const float* at) { return (V)_mm512_loadu_ps(at); }
  static ONEFLOW_RUN_INLINE V Load(Mask m, const float* at) {
    return (V)_mm512_maskz_loadu_ps(m, at);
  }
  static ONEFLOW_RUN_INLINE V Add(V to, Mask m, V v) {
    return (V)_mm512_mask_add_ps((__m512)to, m, (__m512)to, (__m512)v);
  }
  static ONEFLOW_RUN_INLINE void Store(float* at, V v) { _mm512_storeu_ps(at, (__m512)v); }
  static ONEFLOW_RUN_INLINE void Store(float* at, Mask m, V v) {
    _mm512_mask_storeu_ps(at, m, (__m512)v);
  }
};
template <>
struct Vector<double> {
  typedef double V __attribute__((vector_size(64)));
  typedef __mmask8 Mask;
  static constexpr int kLanes = 8;
  static ONEFLOW_RUN_INLINE V Load(const double* at) { return (V)_mm512_loadu_pd(at); }
  static ONEFLOW_RUN_INLINE V Load(Mask m, const double* at) {
    return (V)_mm512_maskz_loadu_pd(m, at);
  }
  static ONEFLOW_RUN_INLINE V Add(V to, Mask m, V v) {
    return (V)_mm512_mask_add_pd((__m512d)to, m, (__m512d)to, (__m512d)v);
  }
  static ONEFLOW_RUN_INLINE void Store(double* at, V v) { _mm512_storeu_pd(at, (__m512d)v); }
  static ONEFLOW_RUN_INLINE void Store(double* at, Mask m, V v) {
    _mm512_mask_storeu_pd(at, m, (__m512d)v);
  }
};

// The lanes of vector `number` of a block that has `left` elements.
template <typename T>
ONEFLOW_RUN_INLINE typename Vector<T>::Mask MaskOf(int64_t left, int number) {
  const int64_t mine = left - number * Vector<T>::kLanes;
  if (mine <= 0) { return 0; }
  return static_cast<typename Vector<T>::Mask>(mine >= Vector<T>::kLanes ? 0xffff
                                                                         : (1u << mine) - 1);
}

template <typename T, int kSums>
struct Lanes {
  using R = Vector<T>;
  typename R::V v[kSums][kVectors] = {};

  template <typename Term>
  ONEFLOW_RUN_INLINE void AddBlock(const T* x, const T* y, const Term& term) {
    for (int k = 0; k < kVectors; ++k) {
      typename R::V terms[kSums];
      term(R::Load(x + k * R::kLanes), R::Load(y + k * R::kLanes), terms);
      for (int s = 0; s < kSums; ++s) { v[s][k] += terms[s]; }
    }
  }
  template <typename Term>
  ONEFLOW_RUN_INLINE void AddPart(const T* x, const T* y, int64_t n, const Term& term) {
    for (int k = 0; k < kVectors; ++k) {
      const auto mask = MaskOf<T>(n, k);
      typename R::V terms[kSums];
      term(R::Load(mask, x + k * R::kLanes), R::Load(mask, y + k * R::kLanes), terms);
      for (int s = 0; s < kSums; ++s) { v[s][k] = R::Add(v[s][k], mask, terms[s]); }
    }
  }
  ONEFLOW_RUN_INLINE double Empty(int s) {
    T lanes[R::kLanes];
    R::Store(lanes, (v[s][0] + v[s][2]) + (v[s][1] + v[s][3]));
    for (int k = 0; k < kVectors; ++k) { v[s][k] = typename R::V{}; }
    for (int width = R::kLanes / 2; width > 0; width /= 2) {
      for (int l = 0; l < width; ++l) { lanes[l] += lanes[l + width]; }
    }
    return static_cast<double>(lanes[0]);
  }
};

// out = value(x, y), element by element.
template <typename T, typename Value>
ONEFLOW_RUN_INLINE void MapRuns(const T* x, const T* y, T* out, const Runs& runs,
                                const Value& value) {
  using R = Vector<T>;
  const int64_t whole = runs.n - runs.n % R::kLanes;
  const auto mask = MaskOf<T>(runs.n - whole, 0);
  for (int64_t r = 0; r < runs.count; ++r) {
    const int64_t at = r * runs.step;
    for (int64_t i = at; i < at + whole; i += R::kLanes) {
      R::Store(out + i, value(R::Load(x + i), R::Load(y + i)));
    }
    if (mask != 0) {
      const int64_t i = at + whole;
      R::Store(out + i, mask, value(R::Load(mask, x + i), R::Load(mask, y + i)));
    }
  }
}

#else

template <typename T, int kSums>
struct Lanes {
  T v[kSums][kBlockLanes<T>] = {};

  template <typename Term>
  ONEFLOW_RUN_INLINE void AddBlock(const T* x, const T* y, const Term& term) {
#pragma GCC ivdep
    for (int64_t l = 0; l < kBlockLanes<T>; ++l) {
      T terms[kSums];
      term(x[l], y[l], terms);
      for (int s = 0; s < kSums; ++s) { v[s][l] += terms[s]; }
    }
  }
  template <typename Term>
  ONEFLOW_RUN_INLINE void AddPart(const T* x, const T* y, int64_t n, const Term& term) {
#pragma GCC ivdep
    for (int64_t l = 0; l < n; ++l) {
      T terms[kSums];
      term(x[l], y[l], terms);
      for (int s = 0; s < kSums; ++s) { v[s][l] += terms[s]; }
    }
  }
  ONEFLOW_RUN_INLINE double Empty(int s) {
    for (int64_t width = kBlockLanes<T> / 2; width > 0; width /= 2) {
      for (int64_t l = 0; l < width; ++l) { v[s][l] += v[s][l + width]; }
    }
    const double sum = static_cast<double>(v[s][0]);
    for (int64_t l = 0; l < kBlockLanes<T>; ++l) { v[s][l] = T(0); }
    return sum;
  }
};

template <typename T, typename Value>
ONEFLOW_RUN_INLINE void MapRuns(const T* x, const T* y, T* out, const Runs& runs,
                                const Value& value) {
  for (int64_t r = 0; r < runs.count; ++r) {
    const int64_t at = r * runs.step;
#pragma GCC ivdep
    for (int64_t i = at; i < at + runs.n; ++i) { out[i] = value(x[i], y[i]); }
  }
}

#endif

template <typename T, int kSums, typename Term>
ONEFLOW_RUN_INLINE void SumRuns(const T* x, const T* y, const Runs& runs, const Term& term,
                                double* sums) {
  Lanes<T, kSums> lanes;
  const int64_t part = runs.n % kBlockLanes<T>;
  for (int s = 0; s < kSums; ++s) { sums[s] = 0.0; }
  int64_t blocks = 0;
  for (int64_t r = 0; r < runs.count; ++r) {
    const T* a = x + r * runs.step;
    const T* b = y + r * runs.step;
    const T* end = a + (runs.n - part);
    while (a < end) {
      const int64_t left = (end - a) / kBlockLanes<T>;
      const int64_t now = left < kStretch - blocks ? left : kStretch - blocks;
      for (int64_t i = 0; i < now; ++i, a += kBlockLanes<T>, b += kBlockLanes<T>) {
        lanes.AddBlock(a, b, term);
      }
      blocks += now;
      if (blocks < kStretch) { continue; }
      for (int s = 0; s < kSums; ++s) { sums[s] += lanes.Empty(s); }
      blocks = 0;
    }
    if (part == 0) { continue; }
    lanes.AddPart(a, b, part, term);
    if (++blocks < kStretch) { continue; }
    for (int s = 0; s < kSums; ++s) { sums[s] += lanes.Empty(s); }
    blocks = 0;
  }
  for (int s = 0; s < kSums; ++s) { sums[s] += lanes.Empty(s); }
}

// ---- the loops ----------------------------------------------------------------------------------
//
// Formulas for a number as for a vector of them.

struct Itself {
  template <typename X>
  ONEFLOW_RUN_INLINE void operator()(X x, X, X* terms) const {
    terms[0] = x;
  }
};
template <typename T>
struct Square {
  T mean;
  template <typename X>
  ONEFLOW_RUN_INLINE void operator()(X x, X, X* terms) const {
    const X d = x - mean;
    terms[0] = d * d;
  }
};
template <typename T>
struct Products {
  T mean;
  template <typename X>
  ONEFLOW_RUN_INLINE void operator()(X dy, X x, X* terms) const {
    terms[0] = dy;
    terms[1] = dy * (x - mean);
  }
};

template <typename T>
double Sum(const T* x, const Runs& runs) {
  double sum;
  SumRuns<T, 1>(x, x, runs, Itself(), &sum);
  return sum;
}

template <typename T>
double SumSquares(const T* x, const Runs& runs, T mean) {
  double sum;
  SumRuns<T, 1>(x, x, runs, Square<T>{mean}, &sum);
  return sum;
}

template <typename T>
void Sums(const T* dy, const T* x, const Runs& runs, T mean, double* sum_dy, double* sum_dyx) {
  double sums[2];
  SumRuns<T, 2>(dy, x, runs, Products<T>{mean}, sums);
  *sum_dy = sums[0];
  *sum_dyx = sums[1];
}

template <typename T>
void Normalize(const T* x, T* out, const Runs& runs, T mean, T scale, T shift) {
  MapRuns(x, x, out, runs,
          [=](auto v, auto) __attribute__((always_inline)) { return (v - mean) * scale + shift; });
}

template <typename T>
void Backward(const T* dy, const T* x, T* dx, const Runs& runs, T mean, T m, T k, T scale) {
  MapRuns(dy, x, dx, runs, [=](auto d, auto v) __attribute__((always_inline)) {
    return ((d - m) - (v - mean) * k) * scale;
  });
}

template <typename T>
constexpr RunLoopsOf<T> LoopsOf() {
  return {&Sum<T>, &SumSquares<T>, &Sums<T>, &Normalize<T>, &Backward<T>};
}

constexpr RunLoopTable kLoops = {LoopsOf<float>(), LoopsOf<double>()};

#undef ONEFLOW_RUN_INLINE

}  // namespace

const RunLoopTable& GetRunLoopTable() { return kLoops; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
