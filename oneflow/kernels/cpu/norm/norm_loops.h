// The dense inner loops of the normalisations, one table for each instruction set.
//
// A run is n neighbouring elements that share one mean and one scale (a channel of a picture); a
// row is n neighbouring elements with a weight each (a token, or the channels of a channels-last
// picture). Sums are taken in short stretches of the data's type, which are added up in double, in
// an order that depends on n alone. Outputs may be the same array as an input.
// Thread safety: constants.
#ifndef ONEFLOW_KERNELS_CPU_NORM_NORM_LOOPS_H_
#define ONEFLOW_KERNELS_CPU_NORM_NORM_LOOPS_H_

#include <cstdint>

#include "oneflow/kernels/cpu/isa.h"

namespace oneflow {
namespace cpu {

// Columns that a column loop takes at most.
inline constexpr int64_t kNormTile = 64;

template <typename T>
struct NormLoops {
  double (*sum)(const T* x, int64_t n);
  double (*sum_squares)(const T* x, int64_t n, T mean);  // of x - mean
  // out[i] = (x[i] - mean) * scale + shift
  void (*run)(const T* x, T* out, int64_t n, T mean, T scale, T shift);
  // The sums of dy and of dy * (x - mean).
  void (*run_sums)(const T* dy, const T* x, int64_t n, T mean, double* sum_dy, double* sum_dyx);
  // dx[i] = (dy[i] - m - (x[i] - mean) * k) * scale
  void (*run_backward)(const T* dy, const T* x, T* dx, int64_t n, T mean, T m, T k, T scale);

  // out[i] = (x[i] - mean) * scale * weight[i] + bias[i]; weight, bias may be nullptr.
  void (*row)(const T* x, T* out, int64_t n, T mean, T scale, const T* weight, const T* bias);
  // The sums of dy * weight and of dy * weight * (x - mean).
  void (*row_sums)(const T* dy, const T* x, int64_t n, T mean, const T* weight, double* sum_dy,
                   double* sum_dyx);
  // dx[i] = (dy[i] * weight[i] - m - (x[i] - mean) * k) * scale
  void (*row_backward)(const T* dy, const T* x, T* dx, int64_t n, T mean, T m, T k, T scale,
                       const T* weight);
  // dw[i] += dy[i] * (x[i] - mean) * scale; db[i] += dy[i] (db may be nullptr).
  void (*row_weights)(const T* dy, const T* x, int64_t n, T mean, T scale, T* dw, T* db);

  // Each column has its own mean, scale and shift: out[i] = (x[i] - mean[i]) * scale[i] + shift[i].
  void (*across)(const T* x, T* out, int64_t n, const T* mean, const T* scale, const T* shift);
  // dx[i] = (dy[i] - m[i] - (x[i] - mean[i]) * k[i]) * scale[i]
  void (*across_backward)(const T* dy, const T* x, T* dx, int64_t n, const T* mean, const T* m,
                          const T* k, const T* scale);

  // Sums over `rows` rows, `stride` apart, of `cols` <= kNormTile columns; added to the results.
  void (*columns_sum)(const T* x, int64_t stride, int64_t rows, int64_t cols, double* sum);
  void (*columns_squares)(const T* x, int64_t stride, int64_t rows, int64_t cols, const T* mean,
                          double* sum);
  void (*columns_sums)(const T* dy, const T* x, int64_t stride, int64_t rows, int64_t cols,
                       const T* mean, double* sum_dy, double* sum_dyx);
};

struct NormLoopTable {
  NormLoops<float> single;
  NormLoops<double> twice;
};

ONEFLOW_DECLARE_ISA_TABLE(NormLoopTable, GetNormLoopTable);

template <typename T>
inline const NormLoops<T>& GetNormLoops() {
  if constexpr (sizeof(T) == sizeof(float)) {
    return GetNormLoopTable().single;
  } else {
    return GetNormLoopTable().twice;
  }
}

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_NORM_NORM_LOOPS_H_
