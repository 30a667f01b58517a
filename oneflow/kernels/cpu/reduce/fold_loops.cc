// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/reduce/lane_exchange.h"
#include "oneflow/kernels/cpu/reduce/reduce_loops.h"
#include "oneflow/kernels/cpu/reduce/sum_folds.h"
#include "oneflow/kernels/cpu/vector_width.h"

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

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
  static constexpr int kStrip = kWidth * kUnroll;
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
    // All lanes as one.
    T Joined() {
      if constexpr (sizeof(T) < 4) {
        T lanes[kStrip];
        Store(lanes);
        for (int l = 1; l < kStrip; ++l) { Op::Join(lanes, lanes[l]); }
        return lanes[0];
      } else {
        for (int u = 1; u < kUnroll; ++u) {
          Op::Join(value, value[u]);
          nan[0] |= nan[u];
        }
        if constexpr (kHasNan) {
          using Flags = decltype(Vec{} != Vec{});
          const auto any = [](Flags* into, const Flags& from) { *into |= from; };
          if (FoldedVector(nan[0], any) != 0) { return static_cast<T>(__builtin_nan("")); }
        }
        return FoldedVector(value[0], [](Vec* into, const Vec& from) { Op::Join(into, from); });
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
      TakeOne(&acc, best.Joined());
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
          &Loops::Columns, &Loops::Merge, false,       false};
}

constexpr int I(Fold fold) { return static_cast<int>(fold); }

// Bool: sums take its truth, extremes and all/any its byte.
template <typename Summed, typename T>
constexpr void Fill(FoldTable* table, DataType dtype) {
  const int d = static_cast<int>(dtype);
  table->at[I(Fold::kSum)][d] = Entry<Wide<Sum, Summed>, Summed>(8);
  table->at[I(Fold::kNanSum)][d] = Entry<Wide<Sum, Summed>, Summed>(8);
  table->at[I(Fold::kCountNonzero)][d] = Entry<Wide<CountNonzero, Summed>, Summed>(8);
  table->at[I(Fold::kProd)][d] = Entry<WideRows<Prod, Summed>, Summed>(8);
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

template <typename T>
constexpr void FillSums(FoldTable* table, DataType dtype) {
  const auto fill = [&](Fold fold, ReduceLoops loops) {
    loops.takes_halves = sizeof(T) == 2;
    table->at[I(fold)][static_cast<int>(dtype)] = loops;
  };
  fill(Fold::kSum, Entry<Blocked<Sum, T>, T>(8));
  fill(Fold::kNanSum, Entry<Blocked<NanSum, T>, T>(8));
  fill(Fold::kSumAbs, Entry<Blocked<SumAbs, T>, T>(8));
  fill(Fold::kSumSquares, Entry<Blocked<SumSquares, T>, T>(8));
  fill(Fold::kCountNonzero, Entry<Blocked<CountNonzero, T>, T>(8));
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
  FillSums<float>(&table, DataType::kFloat);
  FillSums<BFloat16>(&table, DataType::kBFloat16);
  FillFloat<double>(&table, DataType::kDouble);
  return table;
}

constexpr FoldTable kTable = MakeTable();

}  // namespace

const FoldTable& GetFoldTable() { return kTable; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
