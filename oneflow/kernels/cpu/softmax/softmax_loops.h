// The dense inner loops of softmax, log_softmax and their gradients, one table for each instruction
// set.
//
// Rows: the dimension is the innermost one. Columns: `cols` neighbouring vectors, whose elements
// are `stride` apart, are done together. Sums are added up in double, in an order that depends on
// the shape alone. Outputs may be the same array as an input. Thread safety: constants.
#ifndef ONEFLOW_KERNELS_CPU_SOFTMAX_SOFTMAX_LOOPS_H_
#define ONEFLOW_KERNELS_CPU_SOFTMAX_SOFTMAX_LOOPS_H_

#include <cstdint>

#include "oneflow/kernels/cpu/isa.h"

namespace oneflow {
namespace cpu {

// Columns that a column loop takes at most.
inline constexpr int64_t kSoftmaxTile = 64;

// Elements of a row that is stored past the caches, at most.
inline constexpr int64_t kSoftmaxPast = 4096;

// One of the two functions, and its gradient.
template <typename T>
struct SoftmaxForms {
  void (*row)(const T* x, T* out, int64_t n);
  // The same, past the caches (../stream_line.h), of at most kSoftmaxPast elements, to an `out` that is
  // aligned to a line and no operand.
  void (*row_past)(const T* x, T* out, int64_t n);
  void (*columns)(const T* x, T* out, int64_t stride, int64_t n, int64_t cols);
  void (*backward_row)(const T* dy, const T* out, T* dx, int64_t n);
  void (*backward_columns)(const T* dy, const T* out, T* dx, int64_t stride, int64_t n,
                           int64_t cols);
};

template <typename T>
struct SoftmaxLoops {
  SoftmaxForms<T> softmax;      // dx = out * (dy - sum(dy * out))
  SoftmaxForms<T> log_softmax;  // dx = dy - exp(out) * sum(dy)

  // For cross entropy, which needs no softmax of its own: the maximum, and the logarithm of the sum
  // of exp(x - max).
  void (*row_log_sum)(const T* x, int64_t n, T* max, T* log_sum);
  void (*columns_log_sum)(const T* x, int64_t stride, int64_t n, int64_t cols, T* max, T* log_sum);
  // dx = a * exp(x - max - log_sum) - b * weight, weight one number for each of the n, or nullptr
  // for ones.
  void (*row_loss_backward)(const T* x, T* dx, int64_t n, T max, T log_sum, T a, T b,
                            const T* weight);
  void (*columns_loss_backward)(const T* x, T* dx, int64_t stride, int64_t n, int64_t cols,
                                const T* max, const T* log_sum, const T* a, const T* b,
                                const T* weight);
};

struct SoftmaxLoopTable {
  SoftmaxLoops<float> single;
  SoftmaxLoops<double> twice;
};

ONEFLOW_DECLARE_ISA_TABLE(SoftmaxLoopTable, GetSoftmaxLoopTable);

template <typename T>
inline const SoftmaxLoops<T>& GetSoftmaxLoops() {
  if constexpr (sizeof(T) == sizeof(float)) {
    return GetSoftmaxLoopTable().single;
  } else {
    return GetSoftmaxLoopTable().twice;
  }
}

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_SOFTMAX_SOFTMAX_LOOPS_H_
