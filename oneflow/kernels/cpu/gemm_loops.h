// The project's own matrix multiplication, one table for each instruction set: for the dtypes that
// oneDNN does not serve, and for matrices too small to be worth a call of it.
//
// Each element of c is the sum over k in ascending order, so the result does not depend on tiles or
// threads. A product and its addition are one operation where the instruction set has that (avx2,
// avx512), which is twice as fast; there the last bits differ from the baseline's. Thread safety:
// constants.
#ifndef ONEFLOW_KERNELS_CPU_GEMM_LOOPS_H_
#define ONEFLOW_KERNELS_CPU_GEMM_LOOPS_H_

#include <cstdint>

#include "oneflow/core/dtype.h"
#include "oneflow/kernels/cpu/isa.h"

namespace oneflow {
namespace cpu {

// Columns of b that are packed, and multiplied, together: 128 bytes.
inline constexpr int64_t kGemmPanelBytes = 128;

// Packs columns [0, cols) of b (k rows; strides in elements) into a panel of k x width, where
// width = kGemmPanelBytes / sizeof(T); missing columns become zero.
using GemmPackFn = void (*)(void* panel, const void* b, int64_t k, int64_t cols, int64_t row_stride,
                            int64_t col_stride);
// c[0..m) x [0..cols) = a (m x k, strides in elements) times the panel [+ bias[0..cols)]. c is
// row-major with `c_stride`.
using GemmPanelFn = void (*)(void* c, int64_t c_stride, const void* a, int64_t a_row, int64_t a_col,
                             const void* panel, const void* bias, int64_t m, int64_t cols,
                             int64_t k);

// Products with a vector, without packing; sums over k run in as many lanes as a vector register has.
// c[i * c_stride] = row i of the matrix (k dense elements, rows `row_stride` apart) times x (dense)
// [+ bias[i * bias_stride]].
using GemmDotsFn = void (*)(void* c, int64_t c_stride, const void* matrix, int64_t row_stride,
                            const void* x, const void* bias, int64_t bias_stride, int64_t rows,
                            int64_t k);
// c[0..cols) = x (k elements, `x_stride` apart) times the matrix (k rows, `row_stride` apart)
// [+ bias[0..cols)].
using GemmSumsFn = void (*)(void* c, const void* matrix, int64_t row_stride, const void* x,
                            int64_t x_stride, const void* bias, int64_t cols, int64_t k);

struct GemmLoops {
  GemmPackFn pack[kNumDataTypes];
  GemmPanelFn multiply[kNumDataTypes];  // nullptr: dtype not supported
  GemmDotsFn dots[kNumDataTypes];
  GemmSumsFn sums[kNumDataTypes];
};

ONEFLOW_DECLARE_ISA_TABLE(GemmLoops, GetGemmLoops);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_GEMM_LOOPS_H_
