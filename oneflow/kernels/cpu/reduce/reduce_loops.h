// The dense inner loops of reductions, one table for each instruction set.
//
// A reduction keeps a small state for each output: a running sum, the best element so far with its
// index, a mean with the squared deviations. States are opaque to whoever drives the loops: made by
// `init`, fed by `row` and `columns`, joined by `merge`.
//
// Floating-point numbers are added up in double (float32 as trees of 16 to 64 first), integers
// in uint64_t, which wraps. The order of operations is fixed (16 or 64 running sums, folded at the
// end), so every instruction set and every number of threads gives the same bits. Thread safety: constants.
#ifndef ONEFLOW_KERNELS_CPU_REDUCE_REDUCE_LOOPS_H_
#define ONEFLOW_KERNELS_CPU_REDUCE_REDUCE_LOOPS_H_

#include <cstdint>

#include "oneflow/core/dtype.h"
#include "oneflow/kernels/cpu/isa.h"

namespace oneflow {
namespace cpu {

// Columns that a column loop takes at most.
inline constexpr int64_t kColumnTile = 256;
inline constexpr int64_t kMaxStateBytes = 24;

struct ReduceLoops {
  int64_t state_bytes = 0;  // 0: dtype not supported
  // states[0..n) as of nothing.
  void (*init)(void* states, int64_t n) = nullptr;
  // Takes x[0..n) into the state. `first` is the index of x[0] among the reduced elements.
  void (*row)(const void* x, int64_t n, int64_t first, void* state) = nullptr;
  // Takes x[r * row_stride .. + n) into states[r] for all r < count.
  void (*rows)(const void* x, int64_t n, int64_t row_stride, int64_t count, void* states,
               int64_t state_bytes) = nullptr;
  // Takes x[r * row_stride + j] into states[j] for all r in order; row_stride in elements.
  // REQUIRES cols <= kColumnTile.
  void (*columns)(const void* x, int64_t row_stride, int64_t rows, int64_t cols, int64_t first,
                  void* states) = nullptr;
  // into[i] takes what from[i] has seen, which comes after what into[i] has seen; i < n.
  void (*merge)(void* into, const void* from, int64_t n) = nullptr;
  // Whether `first` matters: elements must be taken in the order of their index.
  bool positional = false;
  // Whether x is of 16-bit floats; the loops of other tables take those as float32.
  bool takes_halves = false;
};

// State: one accumulator. Sums and products: double for floating input, else uint64_t.
// Extremes: the input's type. kAll, kAny: uint8_t.
enum class Fold : int {
  kSum,
  kNanSum,  // NaN counts as 0
  kSumAbs,  // floating only, as the next
  kSumSquares,
  kCountNonzero,  // NaN counts
  kProd,
  kMax,  // NaN wins; so in all extremes
  kMin,
  kMaxAbs,  // floating only, as the next
  kMinAbs,
  kAll,
  kAny,
};
inline constexpr int kNumFolds = 12;

struct FoldTable {
  ReduceLoops at[kNumFolds][kNumDataTypes];
};
ONEFLOW_DECLARE_ISA_TABLE(FoldTable, GetFoldTable);

// The first greatest (smallest) element and its index; a NaN wins over all numbers.
struct ArgState {
  alignas(8) unsigned char value[8];  // of the input's type
  int64_t index;                      // -1: none yet
};

// Mean and sum of squared deviations from it.
struct MomentState {
  double count;
  double mean;
  double squares;
};

// log(sum(exp(x))) is log(sum) + max.
struct LogSumExpState {
  double max;  // finite, or 0 where the greatest element is infinite
  double sum;
  int64_t empty;  // nothing seen yet
};

struct StatisticTable {
  ReduceLoops argmax[kNumDataTypes];
  ReduceLoops argmin[kNumDataTypes];
  ReduceLoops moments[kNumDataTypes];
  ReduceLoops log_sum_exp[kNumDataTypes];
};
ONEFLOW_DECLARE_ISA_TABLE(StatisticTable, GetStatisticTable);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_REDUCE_REDUCE_LOOPS_H_
