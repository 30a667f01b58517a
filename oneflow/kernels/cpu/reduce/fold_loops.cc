// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/reduce/reduce_loops.h"
#include "oneflow/kernels/cpu/vector_width.h"

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

struct Bool {
  uint8_t v;
};

// ---- accumulators wider than the elements: sums and products ------------------------------------

constexpr int kLanes = 16;                   // accumulators, whatever the instruction set
constexpr int kStep = kVectorLanes<double>;  // of which this many are in one vector
constexpr int kVectors = kLanes / kStep;

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
    *to = __builtin_convertvector(narrow, Vec);
  }
};
template <>
struct Traits<float> : FloatTraits<float> {};
template <>
struct Traits<double> : FloatTraits<double> {};

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

template <typename Op, typename T, typename Vec>
void StepLanes(const T* from, Vec* accs) {
  for (int v = 0; v < kVectors; ++v) {
    Vec wide;
    Traits<T>::WidenStep(from + v * kStep, &wide);
    Op::Join(accs + v, Op::Map(wide));
  }
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
    Acc lanes[kLanes];
    __builtin_memcpy(lanes, accs, sizeof(lanes));
    for (int l = 0; i + l < n; ++l) { Op::Join(lanes + l, Op::Map(Traits<T>::Widen(from[i + l]))); }
    for (int width = kLanes / 2; width > 0; width /= 2) {
      for (int l = 0; l < width; ++l) { Op::Join(lanes + l, lanes[l + width]); }
    }
    Op::Join(to, lanes[0]);
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

// ---- accumulators of the elements' type: extremes -----------------------------------------------

template <typename T>
constexpr T Lowest() {
  if constexpr (static_cast<T>(0.5) != T(0)) {
    return static_cast<T>(-__builtin_inf());
  } else {
    return static_cast<T>(-1) > T(0) ? T(0) : static_cast<T>(T(1) << (sizeof(T) * 8 - 1));
  }
}
template <typename T>
constexpr T Highest() {
  if constexpr (static_cast<T>(0.5) != T(0)) {
    return static_cast<T>(__builtin_inf());
  } else {
    return static_cast<T>(~Lowest<T>());
  }
}

// A NaN replaces every number, and no number replaces a NaN.
struct Max {
  template <typename T>
  static constexpr T Identity() {
    return Lowest<T>();
  }
  template <typename V>
  static V Map(const V& x) {
    return x;
  }
  template <typename V>
  static void Join(V* a, const V& b) {
    *a = ((b > *a) | (b != b)) ? b : *a;  // NOLINT(misc-redundant-expression)
  }
};
struct Min {
  template <typename T>
  static constexpr T Identity() {
    return Highest<T>();
  }
  template <typename V>
  static V Map(const V& x) {
    return x;
  }
  template <typename V>
  static void Join(V* a, const V& b) {
    *a = ((b < *a) | (b != b)) ? b : *a;  // NOLINT(misc-redundant-expression)
  }
};
struct MaxAbs : Max {
  template <typename T>
  static constexpr T Identity() {
    return T(0);
  }
  template <typename V>
  static V Map(const V& x) {
    return x < V{} ? -x : x;
  }
};
struct MinAbs : Min {
  template <typename V>
  static V Map(const V& x) {
    return x < V{} ? -x : x;
  }
};

template <typename Op, typename T>
struct Same {
  static constexpr int kWidth = kVectorLanes<T>;
  static constexpr int kUnroll = 4;
  typedef T Vec __attribute__((vector_size(kVectorBytes)));

  static Vec Load(const T* from) {
    Vec x;
    __builtin_memcpy(&x, from, sizeof(x));
    return x;
  }

  static void Init(void* states, int64_t n) {
    T* accs = static_cast<T*>(states);
    for (int64_t i = 0; i < n; ++i) { accs[i] = Op::template Identity<T>(); }
  }

  static void Row(const void* x, int64_t n, int64_t, void* state) {
    const T* from = static_cast<const T*>(x);
    T acc = *static_cast<T*>(state);
    int64_t i = 0;
    if (n >= kWidth * kUnroll) {
      Vec accs[kUnroll];
      for (Vec& a : accs) { a = Vec{} + acc; }
      for (; i + kWidth * kUnroll <= n; i += kWidth * kUnroll) {
        for (int u = 0; u < kUnroll; ++u) {
          Op::Join(accs + u, Op::Map(Load(from + i + u * kWidth)));
        }
      }
      for (int u = 1; u < kUnroll; ++u) { Op::Join(accs, accs[u]); }
      T lanes[kWidth];
      __builtin_memcpy(lanes, accs, sizeof(lanes));
      for (int l = 0; l < kWidth; ++l) { Op::Join(&acc, lanes[l]); }
    }
    for (; i < n; ++i) { Op::Join(&acc, Op::Map(from[i])); }
    *static_cast<T*>(state) = acc;
  }

  static void Columns(const void* x, int64_t row_stride, int64_t rows, int64_t cols, int64_t,
                      void* states) {
    const T* from = static_cast<const T*>(x);
    T* to = static_cast<T*>(states);
    int64_t j = 0;
    for (; j + kWidth <= cols; j += kWidth) {
      Vec acc = Load(to + j);
      for (int64_t r = 0; r < rows; ++r) {
        Op::Join(&acc, Op::Map(Load(from + r * row_stride + j)));
      }
      __builtin_memcpy(to + j, &acc, sizeof(acc));
    }
    for (int64_t r = 0; r < rows && j < cols; ++r) {
      for (int64_t k = j; k < cols; ++k) { Op::Join(to + k, Op::Map(from[r * row_stride + k])); }
    }
  }

  static void Merge(void* into, const void* from, int64_t n) {
    T* to = static_cast<T*>(into);
    const T* more = static_cast<const T*>(from);
    for (int64_t i = 0; i < n; ++i) { Op::Join(to + i, more[i]); }
  }
};

// ---- all, any -----------------------------------------------------------------------------------

// kAny: is there an element that is not zero? Else: are all so?
template <bool kAny, typename T>
struct Logic {
  static void Init(void* states, int64_t n) { __builtin_memset(states, kAny ? 0 : 1, n); }

  static void Row(const void* x, int64_t n, int64_t, void* state) {
    constexpr int64_t kBlock = 1024;
    const T* from = static_cast<const T*>(x);
    uint8_t* to = static_cast<uint8_t*>(state);
    for (int64_t at = 0; at < n && *to == (kAny ? 0 : 1); at += kBlock) {
      const int64_t end = at + kBlock < n ? at + kBlock : n;
      // Counted without leaving early, so that the compiler can use vectors.
      int found = 0;
      for (int64_t i = at; i < end; ++i) { found |= (from[i] != T(0)) == kAny ? 1 : 0; }
      if (found != 0) { *to = kAny ? 1 : 0; }
    }
  }

  static void Columns(const void* x, int64_t row_stride, int64_t rows, int64_t cols, int64_t,
                      void* states) {
    const T* from = static_cast<const T*>(x);
    uint8_t* to = static_cast<uint8_t*>(states);
    for (int64_t r = 0; r < rows; ++r) {
      const T* row = from + r * row_stride;
#pragma GCC ivdep
      for (int64_t j = 0; j < cols; ++j) {
        const uint8_t nonzero = row[j] != T(0) ? 1 : 0;
        to[j] = kAny ? to[j] | nonzero : to[j] & nonzero;
      }
    }
  }

  static void Merge(void* into, const void* from, int64_t n) {
    uint8_t* to = static_cast<uint8_t*>(into);
    const uint8_t* more = static_cast<const uint8_t*>(from);
    for (int64_t i = 0; i < n; ++i) { to[i] = kAny ? to[i] | more[i] : to[i] & more[i]; }
  }
};

// ---- the table ----------------------------------------------------------------------------------

template <typename Loops>
constexpr ReduceLoops Entry(int64_t state_bytes) {
  return {state_bytes, &Loops::Init, &Loops::Row, &Loops::Columns, &Loops::Merge, false};
}

constexpr int I(Fold fold) { return static_cast<int>(fold); }

// Bool: sums take its truth, extremes and all/any its byte.
template <typename Summed, typename T>
constexpr void Fill(FoldTable* table, DataType dtype) {
  const int d = static_cast<int>(dtype);
  table->at[I(Fold::kSum)][d] = Entry<Wide<Sum, Summed>>(8);
  table->at[I(Fold::kNanSum)][d] = Entry<Wide<Sum, Summed>>(8);
  table->at[I(Fold::kCountNonzero)][d] = Entry<Wide<CountNonzero, Summed>>(8);
  table->at[I(Fold::kProd)][d] = Entry<Wide<Prod, Summed>>(8);
  table->at[I(Fold::kMax)][d] = Entry<Same<Max, T>>(sizeof(T));
  table->at[I(Fold::kMin)][d] = Entry<Same<Min, T>>(sizeof(T));
  table->at[I(Fold::kAll)][d] = Entry<Logic<false, T>>(1);
  table->at[I(Fold::kAny)][d] = Entry<Logic<true, T>>(1);
}

template <typename T>
constexpr void FillFloat(FoldTable* table, DataType dtype) {
  const int d = static_cast<int>(dtype);
  Fill<T, T>(table, dtype);
  table->at[I(Fold::kNanSum)][d] = Entry<Wide<NanSum, T>>(8);
  table->at[I(Fold::kSumAbs)][d] = Entry<Wide<SumAbs, T>>(8);
  table->at[I(Fold::kSumSquares)][d] = Entry<Wide<SumSquares, T>>(8);
  table->at[I(Fold::kMaxAbs)][d] = Entry<Same<MaxAbs, T>>(sizeof(T));
  table->at[I(Fold::kMinAbs)][d] = Entry<Same<MinAbs, T>>(sizeof(T));
}

constexpr FoldTable MakeTable() {
  FoldTable table = {};
  Fill<Bool, uint8_t>(&table, DataType::kBool);
  Fill<uint8_t, uint8_t>(&table, DataType::kUInt8);
  Fill<int8_t, int8_t>(&table, DataType::kInt8);
  Fill<int16_t, int16_t>(&table, DataType::kInt16);
  Fill<int32_t, int32_t>(&table, DataType::kInt32);
  Fill<int64_t, int64_t>(&table, DataType::kInt64);
  FillFloat<float>(&table, DataType::kFloat);
  FillFloat<double>(&table, DataType::kDouble);
  return table;
}

constexpr FoldTable kTable = MakeTable();

}  // namespace

const FoldTable& GetFoldTable() { return kTable; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
