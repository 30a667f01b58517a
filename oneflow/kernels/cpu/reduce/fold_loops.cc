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

// ---- sums of float32 --------------------------------------------------------------------------------

// Converting every element to double would cost more than adding it. So up to kBlock elements are
// added up in float32, in each of 64 lanes, and their sum in double: the error of a lane's sum does
// not grow with the number of elements.
template <typename Op>
struct Blocked {
  static constexpr int kBlock = 16;
  static constexpr int kWide = 64;
  static constexpr int kWidth = kVectorLanes<float>;
  static constexpr int kParts = kWide / kWidth;
  typedef float Vec __attribute__((vector_size(kVectorBytes)));
  typedef double Double __attribute__((vector_size(kVectorBytes)));
  using Rest = Wide<Op, float>;

  static Vec Load(const float* from) {
    Vec x;
    __builtin_memcpy(&x, from, sizeof(x));
    return x;
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

  static void Row(const void* x, int64_t n, int64_t first, void* state) {
    const float* from = static_cast<const float*>(x);
    if (n < kWide) { return Rest::Row(x, n, first, state); }
    double lanes[kLanes] = {};
    int64_t i = 0;
    while (i + kWide <= n) {
      Vec parts[kParts] = {};
      const int64_t room = (n - i) / kWide;
      const int64_t steps = room < kBlock ? room : kBlock;
      for (int64_t s = 0; s < steps; ++s, i += kWide) {
        for (int v = 0; v < kParts; ++v) { parts[v] += Op::Map(Load(from + i + v * kWidth)); }
      }
      for (int half = kParts / 2; half * kWidth >= kLanes; half /= 2) {
        for (int v = 0; v < half; ++v) { parts[v] += parts[v + half]; }
      }
      float narrow[kWide];
      __builtin_memcpy(narrow, parts, sizeof(parts));
      AddTo(lanes, narrow, kLanes);
    }
    for (int width = kLanes / 2; width > 0; width /= 2) {
      for (int l = 0; l < width; ++l) { lanes[l] += lanes[l + width]; }
    }
    *static_cast<double*>(state) += lanes[0];
    if (i < n) { Rest::Row(from + i, n - i, first, state); }
  }

  static void Columns(const void* x, int64_t row_stride, int64_t rows, int64_t cols, int64_t first,
                      void* states) {
    const float* from = static_cast<const float*>(x);
    double* to = static_cast<double*>(states);
    int64_t j = 0;
    for (; j + kWide <= cols; j += kWide) {
      for (int64_t r = 0; r < rows; r += kBlock) {
        const int64_t end = r + kBlock < rows ? r + kBlock : rows;
        Vec parts[kParts] = {};
        for (int64_t k = r; k < end; ++k) {
          const float* row = from + k * row_stride + j;
          for (int v = 0; v < kParts; ++v) { parts[v] += Op::Map(Load(row + v * kWidth)); }
        }
        float narrow[kWide];
        __builtin_memcpy(narrow, parts, sizeof(parts));
        AddTo(to + j, narrow, kWide);
      }
    }
    if (j < cols) { Rest::Columns(from + j, row_stride, rows, cols - j, first, to + j); }
  }

  static void Init(void* states, int64_t n) { Rest::Init(states, n); }
  static void Merge(void* into, const void* from, int64_t n) { Rest::Merge(into, from, n); }
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

// Which of two numbers stays; what a NaN does is looked after apart from it.
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
    *a = b > *a ? b : *a;
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
    *a = b < *a ? b : *a;
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
  static constexpr bool kHasNan = static_cast<T>(0.5) != T(0);
  typedef T Vec __attribute__((vector_size(kVectorBytes)));

  // The best of some vectors so far, and in which lanes a NaN was seen.
  struct Best {
    Vec value[kUnroll];
    decltype(Vec{} != Vec{}) nan[kUnroll] = {};

    void Take(const T* from) {
      for (int u = 0; u < kUnroll; ++u) {
        Vec x;
        __builtin_memcpy(&x, from + u * kWidth, sizeof(x));
        Op::Join(value + u, Op::Map(x));
        if constexpr (kHasNan) { nan[u] |= x != x; }  // NOLINT(misc-redundant-expression)
      }
    }
    void Store(T* to) const {
      for (int u = 0; u < kUnroll; ++u) {
        Vec out = value[u];
        if constexpr (kHasNan) { out = nan[u] ? Vec{} + static_cast<T>(__builtin_nan("")) : out; }
        __builtin_memcpy(to + u * kWidth, &out, sizeof(out));
      }
    }
  };
  static constexpr int kStrip = kWidth * kUnroll;

  // A NaN replaces every number, and no number replaces a NaN.
  static void TakeOne(T* acc, T x) {
    Op::Join(acc, x);
    if (x != x) { *acc = x; }  // NOLINT(misc-redundant-expression)
  }

  static void Init(void* states, int64_t n) {
    T* accs = static_cast<T*>(states);
    for (int64_t i = 0; i < n; ++i) { accs[i] = Op::template Identity<T>(); }
  }

  static void Row(const void* x, int64_t n, int64_t, void* state) {
    const T* from = static_cast<const T*>(x);
    T acc = *static_cast<T*>(state);
    int64_t i = 0;
    if (n >= kStrip) {
      Best best;
      for (Vec& v : best.value) { v = Vec{} + Op::template Identity<T>(); }
      for (; i + kStrip <= n; i += kStrip) { best.Take(from + i); }
      T lanes[kStrip];
      best.Store(lanes);
      for (int l = 0; l < kStrip; ++l) { TakeOne(&acc, lanes[l]); }
    }
    for (; i < n; ++i) { TakeOne(&acc, Op::Map(from[i])); }
    *static_cast<T*>(state) = acc;
  }

  static void Columns(const void* x, int64_t row_stride, int64_t rows, int64_t cols, int64_t,
                      void* states) {
    const T* from = static_cast<const T*>(x);
    T* to = static_cast<T*>(states);
    int64_t j = 0;
    for (; j + kStrip <= cols; j += kStrip) {
      Best best;
      __builtin_memcpy(best.value, to + j, sizeof(best.value));
      for (int64_t r = 0; r < rows; ++r) { best.Take(from + r * row_stride + j); }
      best.Store(to + j);
    }
    for (int64_t r = 0; r < rows && j < cols; ++r) {
      for (int64_t k = j; k < cols; ++k) { TakeOne(to + k, Op::Map(from[r * row_stride + k])); }
    }
  }

  static void Merge(void* into, const void* from, int64_t n) {
    T* to = static_cast<T*>(into);
    const T* more = static_cast<const T*>(from);
    for (int64_t i = 0; i < n; ++i) { TakeOne(to + i, more[i]); }
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
    constexpr int kUnroll = 4;
    constexpr int kStrip = kVectorLanes<T> * kUnroll;
    typedef T Vec __attribute__((vector_size(kVectorBytes)));
    const T* from = static_cast<const T*>(x);
    uint8_t* to = static_cast<uint8_t*>(states);
    int64_t j = 0;
    for (; j + kStrip <= cols; j += kStrip) {
      decltype(Vec{} != Vec{}) found[kUnroll] = {};  // what decides a column: anything, or a zero
      for (int64_t r = 0; r < rows; ++r) {
        for (int u = 0; u < kUnroll; ++u) {
          Vec v;
          __builtin_memcpy(&v, from + r * row_stride + j + u * kVectorLanes<T>, sizeof(v));
          found[u] |= kAny ? v != Vec{} : v == Vec{};
        }
      }
      for (int l = 0; l < kStrip; ++l) {
        if (found[l / kVectorLanes<T>][l % kVectorLanes<T>] != 0) { to[j + l] = kAny ? 1 : 0; }
      }
    }
    for (int64_t r = 0; r < rows && j < cols; ++r) {
      for (int64_t k = j; k < cols; ++k) {
        if ((from[r * row_stride + k] != T(0)) == kAny) { to[k] = kAny ? 1 : 0; }
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

template <typename Loops, typename T>
void Rows(const void* x, int64_t n, int64_t row_stride, int64_t count, void* states,
          int64_t state_bytes) {
  const T* from = static_cast<const T*>(x);
  char* to = static_cast<char*>(states);
  for (int64_t i = 0; i < count; ++i) {
    Loops::Row(from + i * row_stride, n, 0, to + i * state_bytes);
  }
}

template <typename Loops, typename T>
constexpr ReduceLoops Entry(int64_t state_bytes) {
  return {state_bytes,     &Loops::Init,  &Loops::Row, &Rows<Loops, T>,
          &Loops::Columns, &Loops::Merge, false};
}

constexpr int I(Fold fold) { return static_cast<int>(fold); }

// Bool: sums take its truth, extremes and all/any its byte.
template <typename Summed, typename T>
constexpr void Fill(FoldTable* table, DataType dtype) {
  const int d = static_cast<int>(dtype);
  table->at[I(Fold::kSum)][d] = Entry<Wide<Sum, Summed>, Summed>(8);
  table->at[I(Fold::kNanSum)][d] = Entry<Wide<Sum, Summed>, Summed>(8);
  table->at[I(Fold::kCountNonzero)][d] = Entry<Wide<CountNonzero, Summed>, Summed>(8);
  table->at[I(Fold::kProd)][d] = Entry<Wide<Prod, Summed>, Summed>(8);
  table->at[I(Fold::kMax)][d] = Entry<Same<Max, T>, T>(sizeof(T));
  table->at[I(Fold::kMin)][d] = Entry<Same<Min, T>, T>(sizeof(T));
  table->at[I(Fold::kAll)][d] = Entry<Logic<false, T>, T>(1);
  table->at[I(Fold::kAny)][d] = Entry<Logic<true, T>, T>(1);
}

template <typename T>
constexpr void FillFloat(FoldTable* table, DataType dtype) {
  const int d = static_cast<int>(dtype);
  Fill<T, T>(table, dtype);
  table->at[I(Fold::kNanSum)][d] = Entry<Wide<NanSum, T>, T>(8);
  table->at[I(Fold::kSumAbs)][d] = Entry<Wide<SumAbs, T>, T>(8);
  table->at[I(Fold::kSumSquares)][d] = Entry<Wide<SumSquares, T>, T>(8);
  table->at[I(Fold::kMaxAbs)][d] = Entry<Same<MaxAbs, T>, T>(sizeof(T));
  table->at[I(Fold::kMinAbs)][d] = Entry<Same<MinAbs, T>, T>(sizeof(T));
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
  const int f = static_cast<int>(DataType::kFloat);
  table.at[I(Fold::kSum)][f] = Entry<Blocked<Sum>, float>(8);
  table.at[I(Fold::kNanSum)][f] = Entry<Blocked<NanSum>, float>(8);
  table.at[I(Fold::kSumAbs)][f] = Entry<Blocked<SumAbs>, float>(8);
  table.at[I(Fold::kSumSquares)][f] = Entry<Blocked<SumSquares>, float>(8);
  table.at[I(Fold::kCountNonzero)][f] = Entry<Blocked<CountNonzero>, float>(8);
  FillFloat<double>(&table, DataType::kDouble);
  return table;
}

constexpr FoldTable kTable = MakeTable();

}  // namespace

const FoldTable& GetFoldTable() { return kTable; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
