// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/reduce_loops.h"

#include "oneflow/kernels/cpu/vector_width.h"

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

struct Bool {
  uint8_t v;
};

// Accumulator types, and how a few elements become one vector of them: __builtin_convertvector,
// because the compiler does not turn a loop of conversions into one.
constexpr int kLanes = 16;                   // running sums, whatever the instruction set
constexpr int kStep = kVectorLanes<double>;  // of which this many are in one vector
constexpr int kVectors = kLanes / kStep;

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

// sums[v] += elements from[v * kStep ...], for all vectors.
template <typename T, typename Vec>
void AddLanes(const T* from, Vec* sums) {
  for (int v = 0; v < kVectors; ++v) {
    Vec wide;
    Traits<T>::WidenStep(from + v * kStep, &wide);
    sums[v] += wide;
  }
}

double* Member(Sum* sum, double) { return &sum->d; }
uint64_t* Member(Sum* sum, uint64_t) { return &sum->u; }

template <typename T>
void SumRow(const void* x, int64_t n, Sum* sum) {
  using Acc = typename Traits<T>::Acc;
  typedef Acc Vec __attribute__((vector_size(kVectorBytes)));
  const T* from = static_cast<const T*>(x);
  Vec sums[kVectors] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) { AddLanes(from + i, sums); }
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
  typedef Acc Vec __attribute__((vector_size(kVectorBytes)));
  const T* from = static_cast<const T*>(x);
  Acc* to = Member(sums, Acc());
  int64_t j = 0;
  for (; j + kLanes <= cols; j += kLanes) {
    Vec running[kVectors];
    __builtin_memcpy(running, to + j, sizeof(running));
    for (int64_t r = 0; r < rows; ++r) { AddLanes(from + r * row_stride + j, running); }
    __builtin_memcpy(to + j, running, sizeof(running));
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t k = j; k < cols; ++k) { to[k] += Traits<T>::Widen(from[r * row_stride + k]); }
  }
}

// Is x larger than best, where a NaN is larger than every number?
template <typename T>
bool Larger(T x, T best) {
  return x > best || (x != x && best == best);  // NOLINT(misc-redundant-expression)
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
