// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/norm/norm_loops.h"

#include "oneflow/kernels/cpu/lane_sums.h"

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

// ---- runs ---------------------------------------------------------------------------------------

template <typename T>
double Sum(const T* x, int64_t n) {
  return SumOfTerms<T>(n, [=](int64_t i) { return x[i]; });
}

template <typename T>
double SumSquares(const T* x, int64_t n, T mean) {
  return SumOfTerms<T>(n, [=](int64_t i) { return (x[i] - mean) * (x[i] - mean); });
}

template <typename T>
void Run(const T* x, T* out, int64_t n, T mean, T scale, T shift) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) { out[i] = (x[i] - mean) * scale + shift; }
}

template <typename T>
void RunSums(const T* dy, const T* x, int64_t n, T mean, double* sum_dy, double* sum_dyx) {
  SumsOfTerms<T>(n, sum_dy, sum_dyx, [=](int64_t i, T* a, T* b) {
    *a = dy[i];
    *b = dy[i] * (x[i] - mean);
  });
}

template <typename T>
void RunBackward(const T* dy, const T* x, T* dx, int64_t n, T mean, T m, T k, T scale) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) { dx[i] = ((dy[i] - m) - (x[i] - mean) * k) * scale; }
}

// ---- rows ---------------------------------------------------------------------------------------

template <typename T>
void Row(const T* x, T* out, int64_t n, T mean, T scale, const T* weight, const T* bias) {
  if (weight != nullptr && bias != nullptr) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) { out[i] = (x[i] - mean) * scale * weight[i] + bias[i]; }
  } else if (weight != nullptr) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) { out[i] = (x[i] - mean) * scale * weight[i]; }
  } else if (bias != nullptr) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) { out[i] = (x[i] - mean) * scale + bias[i]; }
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) { out[i] = (x[i] - mean) * scale; }
  }
}

template <typename T>
void RowSums(const T* dy, const T* x, int64_t n, T mean, const T* weight, double* sum_dy,
             double* sum_dyx) {
  if (weight == nullptr) { return RunSums(dy, x, n, mean, sum_dy, sum_dyx); }
  SumsOfTerms<T>(n, sum_dy, sum_dyx, [=](int64_t i, T* a, T* b) {
    *a = dy[i] * weight[i];
    *b = dy[i] * weight[i] * (x[i] - mean);
  });
}

template <typename T>
void RowBackward(const T* dy, const T* x, T* dx, int64_t n, T mean, T m, T k, T scale,
                 const T* weight) {
  if (weight == nullptr) { return RunBackward(dy, x, dx, n, mean, m, k, scale); }
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) { dx[i] = ((dy[i] * weight[i] - m) - (x[i] - mean) * k) * scale; }
}

template <typename T>
void RowWeights(const T* dy, const T* x, int64_t n, T mean, T scale, T* dw, T* db) {
  if (db == nullptr) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) { dw[i] += dy[i] * ((x[i] - mean) * scale); }
    return;
  }
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    dw[i] += dy[i] * ((x[i] - mean) * scale);
    db[i] += dy[i];
  }
}

// ---- columns ------------------------------------------------------------------------------------

template <typename T>
void Across(const T* x, T* out, int64_t n, const T* mean, const T* scale, const T* shift) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) { out[i] = (x[i] - mean[i]) * scale[i] + shift[i]; }
}

template <typename T>
void AcrossBackward(const T* dy, const T* x, T* dx, int64_t n, const T* mean, const T* m,
                    const T* k, const T* scale) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) { dx[i] = ((dy[i] - m[i]) - (x[i] - mean[i]) * k[i]) * scale[i]; }
}

constexpr int64_t kStretch = 64;  // rows added up in T before they go into a double

// sum[j] += the sum over rows of f(r, j).
template <typename T, typename F>
inline __attribute__((always_inline)) void ColumnTerms(int64_t rows, int64_t cols, double* sum,
                                                       F f) {
  for (int64_t r = 0; r < rows; r += kStretch) {
    const int64_t end = r + kStretch < rows ? r + kStretch : rows;
    T part[kNormTile] = {};
    if (cols == kNormTile) {
      for (int64_t i = r; i < end; ++i) {
        for (int64_t j = 0; j < kNormTile; ++j) { part[j] += f(i, j); }
      }
    } else {
      for (int64_t i = r; i < end; ++i) {
        for (int64_t j = 0; j < cols; ++j) { part[j] += f(i, j); }
      }
    }
    for (int64_t j = 0; j < cols; ++j) { sum[j] += static_cast<double>(part[j]); }
  }
}

template <typename T>
void ColumnsSum(const T* x, int64_t stride, int64_t rows, int64_t cols, double* sum) {
  ColumnTerms<T>(rows, cols, sum, [=](int64_t r, int64_t j) { return x[r * stride + j]; });
}

template <typename T>
void ColumnsSquares(const T* x, int64_t stride, int64_t rows, int64_t cols, const T* mean,
                    double* sum) {
  ColumnTerms<T>(rows, cols, sum, [=](int64_t r, int64_t j) {
    const T d = x[r * stride + j] - mean[j];
    return d * d;
  });
}

template <typename T>
void ColumnsSums(const T* dy, const T* x, int64_t stride, int64_t rows, int64_t cols, const T* mean,
                 double* sum_dy, double* sum_dyx) {
  ColumnTerms<T>(rows, cols, sum_dy, [=](int64_t r, int64_t j) { return dy[r * stride + j]; });
  ColumnTerms<T>(rows, cols, sum_dyx, [=](int64_t r, int64_t j) {
    return dy[r * stride + j] * (x[r * stride + j] - mean[j]);
  });
}

template <typename T>
constexpr NormLoops<T> MakeLoops() {
  return {&Sum<T>,
          &SumSquares<T>,
          &Run<T>,
          &RunSums<T>,
          &RunBackward<T>,
          &Row<T>,
          &RowSums<T>,
          &RowBackward<T>,
          &RowWeights<T>,
          &Across<T>,
          &AcrossBackward<T>,
          &ColumnsSum<T>,
          &ColumnsSquares<T>,
          &ColumnsSums<T>};
}

constexpr NormLoopTable kLoops = {MakeLoops<float>(), MakeLoops<double>()};

}  // namespace

const NormLoopTable& GetNormLoopTable() { return kLoops; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
