// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/exp.h"
#include "oneflow/kernels/cpu/reduce/lane_exchange.h"
#include "oneflow/kernels/cpu/reduce/reduce_loops.h"

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

constexpr int kLanes = 16;

template <typename T>
T FoldLanes(T* lanes) {
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int l = 0; l < width; ++l) { lanes[l] += lanes[l + width]; }
  }
  return lanes[0];
}

// ---- the index of an extreme --------------------------------------------------------------------

// Does x go before best? A NaN goes before every number.
template <bool kMax, typename T>
bool Better(T x, T best) {
  // NOLINTNEXTLINE(misc-redundant-expression)
  return (kMax ? x > best : x < best) || (x != x && best == best);
}

template <bool kMax, typename T>
bool BlockHasBetter(const T* x, int64_t n, T best) {
  // Counted without leaving early, so that the compiler can use vectors.
  int better = 0;
  for (int64_t i = 0; i < n; ++i) { better |= Better<kMax>(x[i], best) ? 1 : 0; }
  return better != 0;
}

// The first of the best of some elements, where they have 32 or 64 bits: in each lane the best so far
// and its place. What a NaN does is looked after by the caller.
template <bool kMax, typename T>
struct ArgLanes {
  static constexpr int kWidth = kVectorLanes<T>;
  static constexpr int kUnroll = 2;
  static constexpr int kStrip = kWidth * kUnroll;
  static constexpr int64_t kMost = 1 << 20;  // places fit into lanes
  typedef T Vec __attribute__((vector_size(kVectorBytes)));
  using Places = decltype(Vec{} < Vec{});
  struct Lane {
    Vec value;
    Places place;

    // Takes those of `other` that are better, or as good and earlier.
    void Join(const Lane& other) {
      const Places better = kMax ? other.value > value : other.value < value;
      const Places first = (other.value == value) & (other.place < place);
      const Places taken = better | first;
      value = taken ? other.value : value;
      place = taken ? other.place : place;
    }
  };

  // The best of x[0..n), n a multiple of kStrip up to kMost. False: there is a NaN.
  static bool Find(const T* x, int64_t n, T* value, int64_t* place) {
    Lane lanes[kUnroll];
    Places nan[kUnroll] = {};
    Places here[kUnroll];
    decltype(+here[0][0]) counted[kStrip];
    for (int l = 0; l < kStrip; ++l) { counted[l] = l; }
    __builtin_memcpy(here, counted, sizeof(here));
    for (int u = 0; u < kUnroll; ++u) {
      __builtin_memcpy(&lanes[u].value, x + u * kWidth, sizeof(Vec));
      lanes[u].place = here[u];
    }
    for (int64_t i = 0; i < n; i += kStrip) {
      for (int u = 0; u < kUnroll; ++u) {
        Vec v;
        __builtin_memcpy(&v, x + i + u * kWidth, sizeof(v));
        nan[u] |= v != v;  // NOLINT(misc-redundant-expression)
        const Places better = kMax ? v > lanes[u].value : v < lanes[u].value;
        lanes[u].value = better ? v : lanes[u].value;
        lanes[u].place = better ? here[u] : lanes[u].place;
        here[u] += kStrip;
      }
    }
    for (int u = 1; u < kUnroll; ++u) {
      lanes[0].Join(lanes[u]);
      nan[0] |= nan[u];
    }
    if (FoldedVector(nan[0], [](Places* into, const Places& from) { *into |= from; }) != 0) {
      return false;
    }
    ForDistances<kWidth / 2>([&](auto distance) {
      constexpr int kDistance = decltype(distance)::value;
      lanes[0].Join({Exchanged<kDistance>(lanes[0].value), Exchanged<kDistance>(lanes[0].place)});
    });
    *value = lanes[0].value[0];
    *place = lanes[0].place[0];
    return true;
  }
};

template <bool kMax, typename T>
struct Arg {
  static T Value(const ArgState& state) {
    T value;
    __builtin_memcpy(&value, state.value, sizeof(T));
    return value;
  }
  static void Set(ArgState* state, T value, int64_t index) {
    __builtin_memcpy(state->value, &value, sizeof(T));
    state->index = index;
  }

  static void Init(void* states, int64_t n) {
    ArgState* to = static_cast<ArgState*>(states);
    for (int64_t i = 0; i < n; ++i) { to[i].index = -1; }
  }

  static void Row(const void* x, int64_t n, int64_t first, void* state) {
    constexpr int64_t kBlock = 256;
    if (n == 0) { return; }
    const T* from = static_cast<const T*>(x);
    ArgState* to = static_cast<ArgState*>(state);
    if (to->index < 0) { Set(to, from[0], first); }
    T best = Value(*to);
    int64_t index = to->index;
    if (n <= 32) {
      for (int64_t i = 0; i < n; ++i) {
        const bool better = Better<kMax>(from[i], best);
        best = better ? from[i] : best;
        index = better ? first + i : index;
      }
      return Set(to, best, index);
    }
    int64_t at = 0;
    if constexpr (sizeof(T) >= 4) { at = TakeStrips(from, n, first, &best, &index); }
    for (; at < n; at += kBlock) {
      const int64_t end = at + kBlock < n ? at + kBlock : n;
      if (!BlockHasBetter<kMax>(from + at, end - at, best)) { continue; }
      for (int64_t i = at; i < end; ++i) {
        if (Better<kMax>(from[i], best)) {
          best = from[i];
          index = first + i;
        }
      }
    }
    Set(to, best, index);
  }

  // Takes whole strips, up to the first NaN; returns how many elements.
  static int64_t TakeStrips(const T* from, int64_t n, int64_t first, T* best, int64_t* index) {
    using Lanes = ArgLanes<kMax, T>;
    int64_t at = 0;
    while (n - at >= Lanes::kStrip) {
      int64_t count = n - at < Lanes::kMost ? n - at : Lanes::kMost;
      count -= count % Lanes::kStrip;
      T value;
      int64_t place;
      if (!Lanes::Find(from + at, count, &value, &place)) { break; }
      if (Better<kMax>(value, *best)) {
        *best = value;
        *index = first + at + place;
      }
      at += count;
    }
    return at;
  }

  static void Columns(const void* x, int64_t row_stride, int64_t rows, int64_t cols, int64_t first,
                      void* states) {
    if (rows == 0) { return; }
    const T* from = static_cast<const T*>(x);
    ArgState* to = static_cast<ArgState*>(states);
    T best[kColumnTile];
    int64_t index[kColumnTile];
    const bool fresh = to[0].index < 0;  // so are all columns of a tile, or none
    for (int64_t j = 0; j < cols; ++j) {
      best[j] = fresh ? from[j] : Value(to[j]);
      index[j] = fresh ? first : to[j].index;
    }
    for (int64_t r = fresh ? 1 : 0; r < rows; ++r) {
      const T* row = from + r * row_stride;
      const int64_t at = first + r;
#pragma GCC ivdep
      for (int64_t j = 0; j < cols; ++j) {
        const bool better = Better<kMax>(row[j], best[j]);
        best[j] = better ? row[j] : best[j];
        index[j] = better ? at : index[j];
      }
    }
    for (int64_t j = 0; j < cols; ++j) { Set(to + j, best[j], index[j]); }
  }

  static void Merge(void* into, const void* from, int64_t n) {
    ArgState* to = static_cast<ArgState*>(into);
    const ArgState* more = static_cast<const ArgState*>(from);
    for (int64_t i = 0; i < n; ++i) {
      if (more[i].index < 0) { continue; }
      if (to[i].index < 0 || Better<kMax>(Value(more[i]), Value(to[i]))) { to[i] = more[i]; }
    }
  }
};

// ---- mean and squared deviations ----------------------------------------------------------------

// Each block is gone through twice, for its mean and for the deviations from it; blocks are joined
// by the formula of Chan, Golub and LeVeque. The mean is summed up as a distance from the first
// element, so that equal elements have exactly no variance.
inline void Join(MomentState* to, double count, double mean, double squares) {
  if (to->count == 0.0) {
    *to = {count, mean, squares};
    return;
  }
  if (count == 0.0) { return; }
  const double total = to->count + count;
  const double delta = mean - to->mean;
  to->mean += delta * (count / total);
  to->squares += squares + delta * delta * (to->count * (count / total));
  to->count = total;
}

template <typename T>
struct Moments {
  static void Init(void* states, int64_t n) {
    MomentState* to = static_cast<MomentState*>(states);
    for (int64_t i = 0; i < n; ++i) { to[i] = {0.0, 0.0, 0.0}; }
  }

  static double MeanOf(const T* x, int64_t n) {
    const double shift = static_cast<double>(x[0]);
    if (n < kLanes) {
      double sum = 0.0;
      for (int64_t i = 1; i < n; ++i) { sum += static_cast<double>(x[i]) - shift; }
      return shift + sum / static_cast<double>(n);
    }
    double lanes[kLanes] = {};
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      for (int l = 0; l < kLanes; ++l) { lanes[l] += static_cast<double>(x[i + l]) - shift; }
    }
    for (int l = 0; i + l < n; ++l) { lanes[l] += static_cast<double>(x[i + l]) - shift; }
    return shift + FoldLanes(lanes) / static_cast<double>(n);
  }

  static double SquaresOf(const T* x, int64_t n, double mean) {
    if (n < kLanes) {
      double sum = 0.0;
      for (int64_t i = 0; i < n; ++i) {
        const double d = static_cast<double>(x[i]) - mean;
        sum += d * d;
      }
      return sum;
    }
    double lanes[kLanes] = {};
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      for (int l = 0; l < kLanes; ++l) {
        const double d = static_cast<double>(x[i + l]) - mean;
        lanes[l] += d * d;
      }
    }
    for (int l = 0; i + l < n; ++l) {
      const double d = static_cast<double>(x[i + l]) - mean;
      lanes[l] += d * d;
    }
    return FoldLanes(lanes);
  }

  static void Row(const void* x, int64_t n, int64_t, void* state) {
    constexpr int64_t kBlock = 4096;
    const T* from = static_cast<const T*>(x);
    for (int64_t at = 0; at < n; at += kBlock) {
      const int64_t count = n - at < kBlock ? n - at : kBlock;
      const double mean = MeanOf(from + at, count);
      Join(static_cast<MomentState*>(state), static_cast<double>(count), mean,
           SquaresOf(from + at, count, mean));
    }
  }

  static void Columns(const void* x, int64_t row_stride, int64_t rows, int64_t cols, int64_t,
                      void* states) {
    constexpr int64_t kBlock = 32;
    const T* from = static_cast<const T*>(x);
    for (int64_t at = 0; at < rows; at += kBlock) {
      const int64_t count = rows - at < kBlock ? rows - at : kBlock;
      Block(from + at * row_stride, row_stride, count, cols, static_cast<MomentState*>(states));
    }
  }

  static void Block(const T* from, int64_t row_stride, int64_t rows, int64_t cols,
                    MomentState* states) {
    double mean[kColumnTile] = {};
    double squares[kColumnTile] = {};
    for (int64_t r = 1; r < rows; ++r) {
      const T* row = from + r * row_stride;
      for (int64_t j = 0; j < cols; ++j) {
        mean[j] += static_cast<double>(row[j]) - static_cast<double>(from[j]);
      }
    }
    for (int64_t j = 0; j < cols; ++j) {
      mean[j] = static_cast<double>(from[j]) + mean[j] / static_cast<double>(rows);
    }
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t j = 0; j < cols; ++j) {
        const double d = static_cast<double>(from[r * row_stride + j]) - mean[j];
        squares[j] += d * d;
      }
    }
    for (int64_t j = 0; j < cols; ++j) {
      Join(states + j, static_cast<double>(rows), mean[j], squares[j]);
    }
  }

  static void Merge(void* into, const void* from, int64_t n) {
    MomentState* to = static_cast<MomentState*>(into);
    const MomentState* more = static_cast<const MomentState*>(from);
    for (int64_t i = 0; i < n; ++i) { Join(to + i, more[i].count, more[i].mean, more[i].squares); }
  }
};

// ---- logarithm of a sum of exponentials ---------------------------------------------------------

template <typename T>
bool IsFinite(T x) {
  return x - x == T(0);
}

inline void Join(LogSumExpState* to, double max, double sum) {
  if (sum == 0.0) { return; }  // nothing but -inf
  // An infinite sum stays so, and NaN too; times an exponential that is 0 it would not.
  const bool special = !IsFinite(sum) || !IsFinite(to->sum);
  if (to->empty != 0 || max == to->max || special) {
    to->sum += sum;
    to->max = max;
  } else if (max > to->max) {
    to->sum = to->sum * Exp(to->max - max) + sum;
    to->max = max;
  } else {
    to->sum += sum * Exp(max - to->max);
  }
  to->empty = 0;
}

template <typename T>
struct LogSumExp {
  static void Init(void* states, int64_t n) {
    LogSumExpState* to = static_cast<LogSumExpState*>(states);
    for (int64_t i = 0; i < n; ++i) { to[i] = {0.0, 0.0, 1}; }
  }

  static T MaxOf(const T* x, int64_t n) {
    T lanes[kLanes];
    for (int l = 0; l < kLanes; ++l) { lanes[l] = x[0]; }
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      for (int l = 0; l < kLanes; ++l) { lanes[l] = x[i + l] > lanes[l] ? x[i + l] : lanes[l]; }
    }
    for (; i < n; ++i) { lanes[0] = x[i] > lanes[0] ? x[i] : lanes[0]; }
    T max = lanes[0];
    for (int l = 1; l < kLanes; ++l) { max = lanes[l] > max ? lanes[l] : max; }
    return IsFinite(max) ? max : T(0);
  }

  static double SumOfExp(const T* x, int64_t n, T max) {
    constexpr int64_t kBlock = 16 * kLanes;  // elements that are added up in their own type
    double lanes[kLanes] = {};
    int64_t i = 0;
    while (i + kLanes <= n) {
      const int64_t end = i + kBlock < n ? i + kBlock : n;
      T parts[kLanes] = {};
      for (; i + kLanes <= end; i += kLanes) {
        for (int l = 0; l < kLanes; ++l) { parts[l] += Exp(x[i + l] - max); }
      }
      for (int l = 0; l < kLanes; ++l) { lanes[l] += static_cast<double>(parts[l]); }
    }
    // The rest goes through the same vector code: filled up with -inf, whose exponential is 0.
    if (i < n) {
      T rest[kLanes];
      for (int l = 0; l < kLanes; ++l) {
        rest[l] = i + l < n ? x[i + l] - max : static_cast<T>(-__builtin_inf());
      }
      for (int l = 0; l < kLanes; ++l) { lanes[l] += static_cast<double>(Exp(rest[l])); }
    }
    return FoldLanes(lanes);
  }

  static void Row(const void* x, int64_t n, int64_t, void* state) {
    constexpr int64_t kBlock = 4096;
    const T* from = static_cast<const T*>(x);
    for (int64_t at = 0; at < n; at += kBlock) {
      const int64_t count = n - at < kBlock ? n - at : kBlock;
      const T max = MaxOf(from + at, count);
      Join(static_cast<LogSumExpState*>(state), static_cast<double>(max),
           SumOfExp(from + at, count, max));
    }
  }

  static void Columns(const void* x, int64_t row_stride, int64_t rows, int64_t cols, int64_t,
                      void* states) {
    constexpr int64_t kBlock = 32;
    const T* from = static_cast<const T*>(x);
    for (int64_t at = 0; at < rows; at += kBlock) {
      const int64_t count = rows - at < kBlock ? rows - at : kBlock;
      Block(from + at * row_stride, row_stride, count, cols, static_cast<LogSumExpState*>(states));
    }
  }

  static void Block(const T* from, int64_t row_stride, int64_t rows, int64_t cols,
                    LogSumExpState* states) {
    T max[kColumnTile];
    double sum[kColumnTile] = {};
    for (int64_t j = 0; j < cols; ++j) { max[j] = from[j]; }
    for (int64_t r = 1; r < rows; ++r) {
      const T* row = from + r * row_stride;
      for (int64_t j = 0; j < cols; ++j) { max[j] = row[j] > max[j] ? row[j] : max[j]; }
    }
    for (int64_t j = 0; j < cols; ++j) { max[j] = IsFinite(max[j]) ? max[j] : T(0); }
    for (int64_t r = 0; r < rows; ++r) {
      const T* row = from + r * row_stride;
      for (int64_t j = 0; j < cols; ++j) { sum[j] += static_cast<double>(Exp(row[j] - max[j])); }
    }
    for (int64_t j = 0; j < cols; ++j) { Join(states + j, static_cast<double>(max[j]), sum[j]); }
  }

  static void Merge(void* into, const void* from, int64_t n) {
    LogSumExpState* to = static_cast<LogSumExpState*>(into);
    const LogSumExpState* more = static_cast<const LogSumExpState*>(from);
    for (int64_t i = 0; i < n; ++i) {
      if (more[i].empty == 0) { Join(to + i, more[i].max, more[i].sum); }
    }
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
constexpr ReduceLoops Entry(int64_t state_bytes, bool positional = false) {
  return {state_bytes,     &Loops::Init,  &Loops::Row, &Rows<Loops, T>,
          &Loops::Columns, &Loops::Merge, positional,  false};
}

template <typename T>
constexpr void FillArg(StatisticTable* table, DataType dtype) {
  const int d = static_cast<int>(dtype);
  table->argmax[d] = Entry<Arg<true, T>, T>(sizeof(ArgState), true);
  table->argmin[d] = Entry<Arg<false, T>, T>(sizeof(ArgState), true);
}

template <typename T>
constexpr void FillFloat(StatisticTable* table, DataType dtype) {
  const int d = static_cast<int>(dtype);
  FillArg<T>(table, dtype);
  table->moments[d] = Entry<Moments<T>, T>(sizeof(MomentState));
  table->log_sum_exp[d] = Entry<LogSumExp<T>, T>(sizeof(LogSumExpState));
}

constexpr StatisticTable MakeTable() {
  StatisticTable table = {};
  FillArg<uint8_t>(&table, DataType::kBool);
  FillArg<uint8_t>(&table, DataType::kUInt8);
  FillArg<int8_t>(&table, DataType::kInt8);
  FillArg<int16_t>(&table, DataType::kInt16);
  FillArg<int32_t>(&table, DataType::kInt32);
  FillArg<int64_t>(&table, DataType::kInt64);
  FillFloat<float>(&table, DataType::kFloat);
  FillFloat<double>(&table, DataType::kDouble);
  return table;
}

constexpr StatisticTable kTable = MakeTable();

}  // namespace

const StatisticTable& GetStatisticTable() { return kTable; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
