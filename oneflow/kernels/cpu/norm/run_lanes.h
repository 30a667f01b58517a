// Sums and maps over the runs of one channel, for run_loops.cc and fused_norm_loops.cc.
//
// A term or a value is a formula over the element at one place of several arrays: it gets `at`, and
// at(x) is that element of x, or a vector of neighbours. Sums are taken in blocks of kBlockLanes<T>
// lanes, the last block of a run perhaps a part: with AVX-512 by masks, elsewhere one by one, added
// in the same order. Arrays of bfloat16 are read as float, and values rounded into them.
// Included only by files that of_isa_kernels() compiles: everything is in an unnamed namespace.
#ifndef ONEFLOW_KERNELS_CPU_NORM_RUN_LANES_H_
#define ONEFLOW_KERNELS_CPU_NORM_RUN_LANES_H_

#include <cstdint>

#include "oneflow/kernels/cpu/bfloat16.h"
#include "oneflow/kernels/cpu/norm/runs.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#define ONEFLOW_RUN_INLINE inline __attribute__((always_inline))

namespace oneflow {
namespace cpu {
namespace {

constexpr int kRunVectors = 4;  // of 64 bytes, in a block
template <typename T>
constexpr int64_t kBlockLanes = kRunVectors * 64 / static_cast<int64_t>(sizeof(T));
constexpr int64_t kRunStretch = 32;  // blocks between two emptyings into a double

// Runs that are short lie far from each other, one in every image, where no prefetcher of the
// processor follows: so the lines of a later channel's run, which lies behind this one, are asked for.
template <typename T>
int64_t AheadOf(int64_t n) {
  const int64_t bytes = n * static_cast<int64_t>(sizeof(T));
  return bytes >= 4096 ? 0 : bytes >= 512 ? n : 2 * n;
}
template <int kWrites, typename T>
ONEFLOW_RUN_INLINE void Prefetch(const T* run, int64_t n) {
  const char* at = reinterpret_cast<const char*>(run);
  const int64_t bytes = n * static_cast<int64_t>(sizeof(T));
  for (int64_t i = 0; i < bytes; i += 64) { __builtin_prefetch(at + i, kWrites, 3); }
}

// Place i.
template <typename T>
struct Single {
  int64_t i;
  ONEFLOW_RUN_INLINE T operator()(const T* x) const { return x[i]; }
  ONEFLOW_RUN_INLINE T operator()(const BFloat16* x) const { return Widen(x[i]); }
  ONEFLOW_RUN_INLINE void Store(T* to, T v) const { to[i] = v; }
  ONEFLOW_RUN_INLINE void Store(BFloat16* to, T v) const { to[i] = Narrow(v); }
  // What an array of E would hold.
  template <typename E>
  ONEFLOW_RUN_INLINE T As(T v) const {
    if constexpr (sizeof(E) == sizeof(BFloat16)) {
      return Widen(Narrow(v));
    } else {
      return v;
    }
  }
};

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
  template <typename E>
  static ONEFLOW_RUN_INLINE V As(V v) {
    if constexpr (sizeof(E) == sizeof(BFloat16)) {
      return (V)WidenLanes(NarrowLanes((__m512)v));
    } else {
      return v;
    }
  }
  static ONEFLOW_RUN_INLINE V Load(const BFloat16* at) {
    return (V)WidenLanes(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
  }
  static ONEFLOW_RUN_INLINE V Load(Mask m, const BFloat16* at) {
    return (V)WidenLanes(_mm256_maskz_loadu_epi16(m, at));
  }
  static ONEFLOW_RUN_INLINE void Store(BFloat16* at, V v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(at), NarrowLanes((__m512)v));
  }
  static ONEFLOW_RUN_INLINE void Store(BFloat16* at, Mask m, V v) {
    _mm256_mask_storeu_epi16(at, m, NarrowLanes((__m512)v));
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
  template <typename E>
  static ONEFLOW_RUN_INLINE V As(V v) {
    return v;
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

// A whole vector at place i, and one of which a mask says what is there.
template <typename T>
struct Whole {
  int64_t i;
  template <typename E>
  ONEFLOW_RUN_INLINE typename Vector<T>::V operator()(const E* x) const {
    return Vector<T>::Load(x + i);
  }
  template <typename E>
  ONEFLOW_RUN_INLINE void Store(E* to, typename Vector<T>::V v) const {
    Vector<T>::Store(to + i, v);
  }
  template <typename E>
  ONEFLOW_RUN_INLINE typename Vector<T>::V As(typename Vector<T>::V v) const {
    return Vector<T>::template As<E>(v);
  }
};
template <typename T>
struct Part {
  int64_t i;
  typename Vector<T>::Mask mask;
  template <typename E>
  ONEFLOW_RUN_INLINE typename Vector<T>::V operator()(const E* x) const {
    return Vector<T>::Load(mask, x + i);
  }
  template <typename E>
  ONEFLOW_RUN_INLINE void Store(E* to, typename Vector<T>::V v) const {
    Vector<T>::Store(to + i, mask, v);
  }
  template <typename E>
  ONEFLOW_RUN_INLINE typename Vector<T>::V As(typename Vector<T>::V v) const {
    return Vector<T>::template As<E>(v);
  }
};

template <typename T, int kSums>
struct Lanes {
  using R = Vector<T>;
  typename R::V v[kSums][kRunVectors] = {};

  template <typename Term>
  ONEFLOW_RUN_INLINE void AddBlock(int64_t i, const Term& term) {
    for (int k = 0; k < kRunVectors; ++k) {
      typename R::V terms[kSums];
      term(Whole<T>{i + k * R::kLanes}, terms);
      for (int s = 0; s < kSums; ++s) { v[s][k] += terms[s]; }
    }
  }
  template <typename Term>
  ONEFLOW_RUN_INLINE void AddPart(int64_t i, int64_t n, const Term& term) {
    for (int k = 0; k < kRunVectors; ++k) {
      const auto mask = MaskOf<T>(n, k);
      typename R::V terms[kSums];
      term(Part<T>{i + k * R::kLanes, mask}, terms);
      for (int s = 0; s < kSums; ++s) { v[s][k] = R::Add(v[s][k], mask, terms[s]); }
    }
  }
  ONEFLOW_RUN_INLINE double Empty(int s) {
    T lanes[R::kLanes];
    R::Store(lanes, (v[s][0] + v[s][2]) + (v[s][1] + v[s][3]));
    for (int k = 0; k < kRunVectors; ++k) { v[s][k] = typename R::V{}; }
    for (int width = R::kLanes / 2; width > 0; width /= 2) {
      for (int l = 0; l < width; ++l) { lanes[l] += lanes[l + width]; }
    }
    return static_cast<double>(lanes[0]);
  }
};

// out = value(at), element by element, computed in T; out may be an operand.
template <typename T, typename E, typename Value>
ONEFLOW_RUN_INLINE void MapRuns(E* out, const Runs& runs, const Value& value) {
  using R = Vector<T>;
  const int64_t whole = runs.n - runs.n % R::kLanes;
  const auto mask = MaskOf<T>(runs.n - whole, 0);
  const int64_t ahead = AheadOf<E>(runs.n);
  for (int64_t r = 0; r < runs.count; ++r) {
    const int64_t first = r * runs.step;
    if (ahead > 0) { Prefetch<1>(out + first + ahead, runs.n); }
    for (int64_t i = first; i < first + whole; i += R::kLanes) {
      const Whole<T> at{i};
      at.Store(out, value(at));
    }
    if (mask != 0) {
      const Part<T> at{first + whole, mask};
      at.Store(out, value(at));
    }
  }
}

#else

template <typename T, int kSums>
struct Lanes {
  T v[kSums][kBlockLanes<T>] = {};

  template <typename Term>
  ONEFLOW_RUN_INLINE void AddBlock(int64_t i, const Term& term) {
#pragma GCC ivdep
    for (int64_t l = 0; l < kBlockLanes<T>; ++l) {
      T terms[kSums];
      term(Single<T>{i + l}, terms);
      for (int s = 0; s < kSums; ++s) { v[s][l] += terms[s]; }
    }
  }
  template <typename Term>
  ONEFLOW_RUN_INLINE void AddPart(int64_t i, int64_t n, const Term& term) {
#pragma GCC ivdep
    for (int64_t l = 0; l < n; ++l) {
      T terms[kSums];
      term(Single<T>{i + l}, terms);
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

template <typename T, typename E, typename Value>
ONEFLOW_RUN_INLINE void MapRuns(E* out, const Runs& runs, const Value& value) {
  for (int64_t r = 0; r < runs.count; ++r) {
    const int64_t first = r * runs.step;
#pragma GCC ivdep
    for (int64_t i = first; i < first + runs.n; ++i) {
      const Single<T> at{i};
      at.Store(out, value(at));
    }
  }
}

#endif

// The sums of what term(at, terms) puts into terms[0..kSums), of arrays of E. ask(i) prefetches what lies at place i.
template <typename T, int kSums, typename E, typename Term, typename Ask>
ONEFLOW_RUN_INLINE void SumRuns(const Runs& runs, const Term& term, const Ask& ask, double* sums) {
  Lanes<T, kSums> lanes;
  const int64_t part = runs.n % kBlockLanes<T>;
  const int64_t ahead = AheadOf<E>(runs.n);
  for (int s = 0; s < kSums; ++s) { sums[s] = 0.0; }
  int64_t blocks = 0;
  const auto empty = [&]() __attribute__((always_inline)) {
    for (int s = 0; s < kSums; ++s) { sums[s] += lanes.Empty(s); }
    blocks = 0;
  };
  for (int64_t r = 0; r < runs.count; ++r) {
    int64_t i = r * runs.step;
    if (ahead > 0) { ask(i + ahead); }
    const int64_t end = i + runs.n - part;
    while (i < end) {
      const int64_t left = (end - i) / kBlockLanes<T>;
      const int64_t now = left < kRunStretch - blocks ? left : kRunStretch - blocks;
      for (int64_t b = 0; b < now; ++b, i += kBlockLanes<T>) { lanes.AddBlock(i, term); }
      blocks += now;
      if (blocks == kRunStretch) { empty(); }
    }
    if (part > 0) {
      lanes.AddPart(i, part, term);
      if (++blocks == kRunStretch) { empty(); }
    }
  }
  empty();
}

}  // namespace
}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_NORM_RUN_LANES_H_
