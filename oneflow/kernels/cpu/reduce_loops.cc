// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/reduce_loops.h"

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

struct Bool {
  uint8_t v;
};

template <typename T>
struct Traits {
  using Acc = uint64_t;
  static Acc Widen(T x) { return static_cast<Acc>(static_cast<int64_t>(x)); }
};
template <>
struct Traits<Bool> {
  using Acc = uint64_t;
  static Acc Widen(Bool x) { return x.v != 0; }
};
template <>
struct Traits<float> {
  using Acc = double;
  static Acc Widen(float x) { return x; }
};
template <>
struct Traits<double> {
  using Acc = double;
  static Acc Widen(double x) { return x; }
};

constexpr int kLanes = 16;

double* Member(Sum* sum, double) { return &sum->d; }
uint64_t* Member(Sum* sum, uint64_t) { return &sum->u; }

template <typename T>
void SumRow(const void* x, int64_t n, Sum* sum) {
  using Acc = typename Traits<T>::Acc;
  typedef Acc Vec __attribute__((vector_size(64)));
  const T* from = static_cast<const T*>(x);
  Vec sums[2] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    Acc wide[kLanes];
    for (int l = 0; l < kLanes; ++l) { wide[l] = Traits<T>::Widen(from[i + l]); }
    Vec v[2];
    __builtin_memcpy(v, wide, sizeof(v));
    sums[0] += v[0];
    sums[1] += v[1];
  }
  Acc lanes[kLanes];
  __builtin_memcpy(lanes, sums, sizeof(lanes));
  for (int l = 0; i + l < n; ++l) { lanes[l] += Traits<T>::Widen(from[i + l]); }
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int l = 0; l < width; ++l) { lanes[l] += lanes[l + width]; }
  }
  *Member(sum, Acc()) += lanes[0];
}

template <typename T>
void SumColumns(const void* x, int64_t row_stride, int64_t rows, int64_t cols, Sum* sums) {
  using Acc = typename Traits<T>::Acc;
  typedef Acc Vec __attribute__((vector_size(64)));
  const T* from = static_cast<const T*>(x);
  Acc* to = Member(sums, Acc());
  int64_t j = 0;
  for (; j + kLanes <= cols; j += kLanes) {
    Vec acc[2];
    __builtin_memcpy(acc, to + j, sizeof(acc));
    for (int64_t r = 0; r < rows; ++r) {
      Acc wide[kLanes];
      for (int l = 0; l < kLanes; ++l) { wide[l] = Traits<T>::Widen(from[r * row_stride + j + l]); }
      Vec v[2];
      __builtin_memcpy(v, wide, sizeof(v));
      acc[0] += v[0];
      acc[1] += v[1];
    }
    __builtin_memcpy(to + j, acc, sizeof(acc));
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t k = j; k < cols; ++k) { to[k] += Traits<T>::Widen(from[r * row_stride + k]); }
  }
}

// Is x larger than best, where a NaN is larger than every number?
template <typename T>
bool Larger(T x, T best) {
  return x > best || (x != x && best == best);
}

template <typename T>
bool BlockHasLarger(const T* x, int64_t n, T best) {
  // Counted without leaving early, so that the compiler can use vectors.
  int larger = 0;
  for (int64_t i = 0; i < n; ++i) { larger |= Larger(x[i], best) ? 1 : 0; }
  return larger != 0;
}

template <typename T>
int64_t ArgmaxRow(const void* x, int64_t n, const void* best) {
  constexpr int64_t kBlock = 256;
  const T* from = static_cast<const T*>(x);
  int64_t index = best == nullptr ? 0 : -1;
  T top = best == nullptr ? from[0] : *static_cast<const T*>(best);
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t end = at + kBlock < n ? at + kBlock : n;
    if (!BlockHasLarger(from + at, end - at, top)) { continue; }
    for (int64_t i = at; i < end; ++i) {
      if (Larger(from[i], top)) {
        top = from[i];
        index = i;
      }
    }
  }
  return index;
}

template <typename T>
void ArgmaxColumns(const void* x, int64_t row_stride, int64_t rows, int64_t cols, int64_t* index) {
  const T* from = static_cast<const T*>(x);
  T best[kColumnTile];
  for (int64_t j = 0; j < cols; ++j) {
    best[j] = from[j];
    index[j] = 0;
  }
  for (int64_t r = 1; r < rows; ++r) {
    const T* row = from + r * row_stride;
    for (int64_t j = 0; j < cols; ++j) {
      const bool larger = Larger(row[j], best[j]);
      best[j] = larger ? row[j] : best[j];
      index[j] = larger ? r : index[j];
    }
  }
}

template <typename T>
constexpr void FillSum(ReduceLoops* table, DataType dtype) {
  table->sum_row[static_cast<int>(dtype)] = &SumRow<T>;
  table->sum_columns[static_cast<int>(dtype)] = &SumColumns<T>;
}

template <typename T>
constexpr void FillArgmax(ReduceLoops* table, DataType dtype) {
  table->argmax_row[static_cast<int>(dtype)] = &ArgmaxRow<T>;
  table->argmax_columns[static_cast<int>(dtype)] = &ArgmaxColumns<T>;
}

template <typename T>
constexpr void FillBoth(ReduceLoops* table, DataType dtype) {
  FillSum<T>(table, dtype);
  FillArgmax<T>(table, dtype);
}

constexpr ReduceLoops MakeLoops() {
  ReduceLoops table = {};
  FillSum<Bool>(&table, DataType::kBool);
  FillArgmax<uint8_t>(&table, DataType::kBool);
  FillBoth<uint8_t>(&table, DataType::kUInt8);
  FillBoth<int8_t>(&table, DataType::kInt8);
  FillBoth<int16_t>(&table, DataType::kInt16);
  FillBoth<int32_t>(&table, DataType::kInt32);
  FillBoth<int64_t>(&table, DataType::kInt64);
  FillBoth<float>(&table, DataType::kFloat);
  FillBoth<double>(&table, DataType::kDouble);
  return table;
}

constexpr ReduceLoops kLoops = MakeLoops();

}  // namespace

const ReduceLoops& GetReduceLoops() { return kLoops; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
