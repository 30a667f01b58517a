// The inner loops of cumulative ops, one table for each instruction set.
//
// Along a row, four pieces of it are gone through side by side, since each addition waits for the
// one before it; across columns, neighbours are independent. Floating-point numbers accumulate in
// double, integers in uint64_t. Thread safety: constants.
#ifndef ONEFLOW_KERNELS_CPU_REDUCE_SCAN_LOOPS_H_
#define ONEFLOW_KERNELS_CPU_REDUCE_SCAN_LOOPS_H_

#include <cstdint>

#include "oneflow/core/dtype.h"
#include "oneflow/kernels/cpu/isa.h"

namespace oneflow {
namespace cpu {

enum class Scan : int { kSum, kProd };
inline constexpr int kNumScans = 2;

// Columns that a column loop takes at most.
inline constexpr int64_t kScanTile = 256;
// An accumulator; which member counts depends on the dtype.
union ScanState {
  double d;
  uint64_t u;
};

struct ScanLoops {
  // out[k][i] = state[k] op x[k][0] op ... op x[k][i] for i < n and each of four rows, which may be
  // the same array where only one is wanted; step is 1, or -1 for rows that are given by their last
  // element and gone through backwards. state[k] is left as it was.
  void (*rows)(const void* const* x, void* const* out, int64_t n, int64_t step,
               const ScanState* state) = nullptr;
  // The same for one row.
  void (*row)(const void* x, void* out, int64_t n, int64_t step, ScanState state) = nullptr;
  // *state = *state op x[0] op ... op x[n - 1], in an order of its own.
  void (*total)(const void* x, int64_t n, ScanState* state) = nullptr;
  // out[r * stride + j] for r < rows, j < cols; stride may be negative.
  void (*columns)(const void* x, void* out, int64_t stride, int64_t rows, int64_t cols) = nullptr;
};

struct ScanTable {
  // The output has the input's floating dtype, or int64.
  ScanLoops at[kNumScans][kNumDataTypes];
};
ONEFLOW_DECLARE_ISA_TABLE(ScanTable, GetScanTable);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_REDUCE_SCAN_LOOPS_H_
