// Loops whose accumulators are wider than the elements: sums and products, for fold_loops.cc.
//
// Included only by files that of_isa_kernels() compiles: everything is in an unnamed namespace.
#ifndef ONEFLOW_KERNELS_CPU_REDUCE_SUM_FOLDS_H_
#define ONEFLOW_KERNELS_CPU_REDUCE_SUM_FOLDS_H_

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include <cstdint>

#include "oneflow/kernels/cpu/reduce/lane_exchange.h"
#include "oneflow/kernels/cpu/vector_width.h"

namespace oneflow {
namespace cpu {
namespace {

struct Bool {
  uint8_t v;
};

// ---- accumulators wider than the elements: sums and products ------------------------------------

constexpr int kLanes = 16;                   // accumulators, whatever the instruction set
constexpr int kStep = kVectorLanes<double>;  // of which this many are in one vector
template <int kAll>
constexpr int kVectorsOf = kAll / kStep;
constexpr int kVectors = kVectorsOf<kLanes>;

// Accumulator types, and how a few elements become one vector of them: __builtin_convertvector,
// because the compiler does not turn a loop of conversions into one.
template <typename T>
struct Traits {  // integers
  using Acc = uint64_t;
  static Acc Widen(T x) { return static_cast<Acc>(static_cast<int64_t>(x)); }
  template <typename Vec>
  static void WidenStep(const T* from, Vec* to) {
    typedef T Narrow __attribute__((vector_size(kStep * sizeof(T))));
    typedef int64_t Signed __attribute__((vector_size(kVectorBytes)));
    Narrow narrow;
    __builtin_memcpy(&narrow, from, sizeof(narrow));
    const Signed wide = __builtin_convertvector(narrow, Signed);
    __builtin_memcpy(to, &wide, sizeof(wide));
  }
};
template <>
struct Traits<Bool> {
  using Acc = uint64_t;
  static Acc Widen(Bool x) { return x.v != 0; }
  template <typename Vec>
  static void WidenStep(const Bool* from, Vec* to) {
    uint8_t ones[kStep];
    for (int l = 0; l < kStep; ++l) { ones[l] = from[l].v != 0; }
    Traits<uint8_t>::WidenStep(ones, to);
  }
};
template <typename T>
struct FloatTraits {
  using Acc = double;
  static Acc Widen(T x) { return x; }
  template <typename Vec>
  static void WidenStep(const T* from, Vec* to) {
    typedef T Narrow __attribute__((vector_size(kStep * sizeof(T))));
    Narrow narrow;
    __builtin_memcpy(&narrow, from, sizeof(narrow));
#if defined(__AVX512F__)
    // GCC 12 converts halves and puts them together again.
    if constexpr (sizeof(T) == 4) {
      const __m512d wide = _mm512_maskz_cvtps_pd(0xff, (__m256)narrow);
      __builtin_memcpy(to, &wide, sizeof(wide));
      return;
    }
#endif
    *to = __builtin_convertvector(narrow, Vec);
  }
};
template <>
struct Traits<float> : FloatTraits<float> {};
template <>
struct Traits<double> : FloatTraits<double> {};

struct BFloat16 {
  uint16_t v;
};
template <>
struct Traits<BFloat16> {
  using Acc = double;
  static Acc Widen(BFloat16 x) {
    const uint32_t bits = static_cast<uint32_t>(x.v) << 16;
    float wide;
    __builtin_memcpy(&wide, &bits, sizeof(wide));
    return wide;
  }
  template <typename Vec>
  static void WidenStep(const BFloat16* from, Vec* to) {
    float wide[kStep];
    for (int l = 0; l < kStep; ++l) { wide[l] = static_cast<float>(Widen(from[l])); }
    Traits<float>::WidenStep(wide, to);
  }
};

// What becomes of an element, and how two accumulators join; V is a number or a vector of them.
struct Add {
  static constexpr int kIdentity = 0;
  template <typename V>
  static void Join(V* a, const V& b) {
    *a += b;
  }
};
struct Sum : Add {
  template <typename V>
  static V Map(const V& x) {
    return x;
  }
};
struct NanSum : Add {
  template <typename V>
  static V Map(const V& x) {
    return x == x ? x : V{};  // NOLINT(misc-redundant-expression)
  }
};
struct SumAbs : Add {
  template <typename V>
  static V Map(const V& x) {
    return x < V{} ? -x : x;
  }
};
struct SumSquares : Add {
  template <typename V>
  static V Map(const V& x) {
    return x * x;
  }
};
struct CountNonzero : Add {
  template <typename V>
  static V Map(const V& x) {
    return x != V{} ? V{} + 1 : V{};
  }
};
struct Prod {
  static constexpr int kIdentity = 1;
  template <typename V>
  static V Map(const V& x) {
    return x;
  }
  template <typename V>
  static void Join(V* a, const V& b) {
    *a *= b;
  }
};

template <typename Op, int kCount = kVectors, typename T, typename Vec>
void StepLanes(const T* from, Vec* accs) {
  for (int v = 0; v < kCount; ++v) {
    Vec wide;
    Traits<T>::WidenStep(from + v * kStep, &wide);
    Op::Join(accs + v, Op::Map(wide));
  }
}

// All lanes joined: the upper half into the lower, until one is left.
template <typename Op, int kCount = kVectors, typename Vec>
auto JoinLanes(Vec* accs) {
  for (int half = kCount / 2; half > 0; half /= 2) {
    for (int v = 0; v < half; ++v) { Op::Join(accs + v, accs[v + half]); }
  }
  return FoldedVector(accs[0], [](Vec* into, const Vec& from) { Op::Join(into, from); });
}

template <typename Op, typename T>
struct Wide {
  using Acc = typename Traits<T>::Acc;
  typedef Acc Vec __attribute__((vector_size(kVectorBytes)));

  static void Init(void* states, int64_t n) {
    Acc* accs = static_cast<Acc*>(states);
    for (int64_t i = 0; i < n; ++i) { accs[i] = static_cast<Acc>(Op::kIdentity); }
  }

  static void Row(const void* x, int64_t n, int64_t, void* state) {
    const T* from = static_cast<const T*>(x);
    Acc* to = static_cast<Acc*>(state);
    if (n < kLanes) {
      Acc acc = *to;
      for (int64_t i = 0; i < n; ++i) { Op::Join(&acc, Op::Map(Traits<T>::Widen(from[i]))); }
      *to = acc;
      return;
    }
    Vec accs[kVectors];
    for (Vec& acc : accs) { acc = Vec{} + static_cast<Acc>(Op::kIdentity); }
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) { StepLanes<Op>(from + i, accs); }
    if (i < n) {
      Acc lanes[kLanes];
      __builtin_memcpy(lanes, accs, sizeof(lanes));
      for (int l = 0; i + l < n; ++l) {
        Op::Join(lanes + l, Op::Map(Traits<T>::Widen(from[i + l])));
      }
      __builtin_memcpy(accs, lanes, sizeof(lanes));
    }
    Op::Join(to, JoinLanes<Op>(accs));
  }

  static void Columns(const void* x, int64_t row_stride, int64_t rows, int64_t cols, int64_t,
                      void* states) {
    const T* from = static_cast<const T*>(x);
    Acc* to = static_cast<Acc*>(states);
    int64_t j = 0;
    for (; j + kLanes <= cols; j += kLanes) {
      Vec accs[kVectors];
      __builtin_memcpy(accs, to + j, sizeof(accs));
      for (int64_t r = 0; r < rows; ++r) { StepLanes<Op>(from + r * row_stride + j, accs); }
      __builtin_memcpy(to + j, accs, sizeof(accs));
    }
    for (int64_t r = 0; r < rows && j < cols; ++r) {
      for (int64_t k = j; k < cols; ++k) {
        Op::Join(to + k, Op::Map(Traits<T>::Widen(from[r * row_stride + k])));
      }
    }
  }

  static void Merge(void* into, const void* from, int64_t n) {
    Acc* to = static_cast<Acc*>(into);
    const Acc* more = static_cast<const Acc*>(from);
    for (int64_t i = 0; i < n; ++i) { Op::Join(to + i, more[i]); }
  }
};

// The same, but twice as many lanes for long rows: multiplications take longer than additions.
template <typename Op, typename T>
struct WideRows : Wide<Op, T> {
  using Narrow = Wide<Op, T>;
  using Acc = typename Narrow::Acc;
  using Vec = typename Narrow::Vec;
  static constexpr int kTwice = 2 * kLanes;
  static constexpr int kCount = kVectorsOf<kTwice>;

  static void Row(const void* x, int64_t n, int64_t first, void* state) {
    const T* from = static_cast<const T*>(x);
    int64_t i = 0;
    if (n >= 2 * kTwice) {
      Vec accs[kCount];
      for (Vec& acc : accs) { acc = Vec{} + static_cast<Acc>(Op::kIdentity); }
      for (; i + kTwice <= n; i += kTwice) { StepLanes<Op, kCount>(from + i, accs); }
      Op::Join(static_cast<Acc*>(state), JoinLanes<Op, kCount>(accs));
    }
    if (i < n) { Narrow::Row(from + i, n - i, first + i, state); }
  }
};

// ---- sums of float32 and bfloat16 ---------------------------------------------------------------

typedef float FloatVec __attribute__((vector_size(kVectorBytes)));

// Converting every element to double would cost more than adding it. So blocks of up to 16 elements
// are added up in float32 in each of 64 lanes, as a tree: a + b, then (a + b) + (c + d), so that an
// element goes through four roundings. Row adds the lanes up to 16, two more, and goes on in double.
// So a sum is off by at most 6 u of the sum of |x|, u = 2^-24, however many elements there are, and
// by one more rounding when it is stored; where partial sums are exact it is exact.
inline void LoadFloats(const float* from, FloatVec* to) { __builtin_memcpy(to, from, sizeof(*to)); }
inline void LoadFloats(const BFloat16* from, FloatVec* to) {
  typedef uint16_t Halves __attribute__((vector_size(kVectorBytes / 2)));
  typedef uint32_t Words __attribute__((vector_size(kVectorBytes)));
  Halves halves;
  __builtin_memcpy(&halves, from, sizeof(halves));
  const Words words = __builtin_convertvector(halves, Words) << 16;
  __builtin_memcpy(to, &words, sizeof(words));
}

template <typename Op, typename T>
struct Blocked {
  static constexpr int kBlock = 16;
  static constexpr int kWide = 64;
  static constexpr int kWidth = kVectorLanes<float>;
  static constexpr int kParts = kWide / kWidth;
  typedef double Double __attribute__((vector_size(kVectorBytes)));
  using Vec = FloatVec;
  using Rest = Wide<Op, T>;

  // The sum of kCount vectors that are `stride` elements apart.
  template <int kCount>
  static inline __attribute__((always_inline)) Vec Tree(const T* from, int64_t stride) {
    if constexpr (kCount == 1) {
      Vec x;
      LoadFloats(from, &x);
      return Op::Map(x);
    } else {
      const Vec left = Tree<kCount / 2>(from, stride);
      return left + Tree<kCount / 2>(from + kCount / 2 * stride, stride);
    }
  }

  // to[l] += narrow[l], l < count.
  static void AddTo(double* to, const float* narrow, int count) {
    for (int l = 0; l < count; l += kStep) {
      Double wide;
      Traits<float>::WidenStep(narrow + l, &wide);
      Double sum;
      __builtin_memcpy(&sum, to + l, sizeof(sum));
      sum += wide;
      __builtin_memcpy(to + l, &sum, sizeof(sum));
    }
  }

  // Takes whole blocks of kRows * kWide elements into 16 lanes; returns what is left.
  template <int kRows>
  static const T* TakeRows(const T* from, const T* end, Double* lanes) {
    for (; end - from >= kRows * kWide; from += kRows * kWide) {
      Vec parts[kParts];
      for (int v = 0; v < kParts; ++v) { parts[v] = Tree<kRows>(from + v * kWidth, kWide); }
      for (int half = kParts / 2; half * kWidth >= kLanes; half /= 2) {
        for (int v = 0; v < half; ++v) { parts[v] += parts[v + half]; }
      }
      float narrow[kLanes];
      __builtin_memcpy(narrow, parts, sizeof(narrow));
      for (int v = 0; v < kVectors; ++v) {
        Double wide;
        Traits<float>::WidenStep(narrow + v * kStep, &wide);
        lanes[v] += wide;
      }
    }
    return from;
  }

  static void Row(const void* x, int64_t n, int64_t first, void* state) {
    const T* from = static_cast<const T*>(x);
    if (n < kWide) { return Rest::Row(x, n, first, state); }
    const T* end = from + n;
    Double lanes[kVectors] = {};
    from = TakeRows<kBlock>(from, end, lanes);
    from = TakeRows<kBlock / 2>(from, end, lanes);
    from = TakeRows<kBlock / 4>(from, end, lanes);
    from = TakeRows<kBlock / 8>(from, end, lanes);
    from = TakeRows<1>(from, end, lanes);
    *static_cast<double*>(state) += JoinLanes<Add>(lanes);
    if (from < end) { Rest::Row(from, end - from, first, state); }
  }

  // Takes blocks of kRows rows into kWide columns each, as long as there are rows; returns the rows left.
  template <int kRows>
  static int64_t TakeColumns(const T** from, int64_t row_stride, int64_t rows, int64_t cols,
                             double* to) {
    for (; rows >= kRows; rows -= kRows, *from += kRows * row_stride) {
      for (int64_t j = 0; j + kWide <= cols; j += kWide) {
        float narrow[kWide];
        for (int v = 0; v < kParts; ++v) {
          const Vec sum = Tree<kRows>(*from + j + v * kWidth, row_stride);
          __builtin_memcpy(narrow + v * kWidth, &sum, sizeof(sum));
        }
        AddTo(to + j, narrow, kWide);
      }
    }
    return rows;
  }

  static void Columns(const void* x, int64_t row_stride, int64_t rows, int64_t cols, int64_t first,
                      void* states) {
    const T* from = static_cast<const T*>(x);
    double* to = static_cast<double*>(states);
    const int64_t whole = cols / kWide * kWide;
    if (whole > 0) {
      const T* at = from;
      int64_t left = TakeColumns<kBlock>(&at, row_stride, rows, whole, to);
      left = TakeColumns<kBlock / 2>(&at, row_stride, left, whole, to);
      left = TakeColumns<kBlock / 4>(&at, row_stride, left, whole, to);
      TakeColumns<1>(&at, row_stride, left, whole, to);
    }
    if (whole < cols) {
      Rest::Columns(from + whole, row_stride, rows, cols - whole, first, to + whole);
    }
  }

  static void Init(void* states, int64_t n) { Rest::Init(states, n); }
  static void Merge(void* into, const void* from, int64_t n) { Rest::Merge(into, from, n); }
};

}  // namespace
}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_REDUCE_SUM_FOLDS_H_
