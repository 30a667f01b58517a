// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/softmax/softmax_loops.h"

#include "oneflow/kernels/cpu/exp.h"
#include "oneflow/kernels/cpu/lane_sums.h"
#include "oneflow/kernels/cpu/stream_line.h"

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

// ---- rows ---------------------------------------------------------------------------------------

template <typename T>
T MaxOf(const T* x, int64_t n) {
  T lanes[kSumLanes];
  for (int l = 0; l < kSumLanes; ++l) { lanes[l] = x[0]; }
  int64_t i = 0;
  for (; i + kSumLanes <= n; i += kSumLanes) {
    for (int l = 0; l < kSumLanes; ++l) { lanes[l] = x[i + l] > lanes[l] ? x[i + l] : lanes[l]; }
  }
  for (; i < n; ++i) { lanes[0] = x[i] > lanes[0] ? x[i] : lanes[0]; }
  T max = lanes[0];
  for (int l = 1; l < kSumLanes; ++l) { max = lanes[l] > max ? lanes[l] : max; }
  return max;
}

template <typename T>
void SoftmaxRow(const T* x, T* out, int64_t n) {
  const T max = MaxOf(x, n);
  const double sum = SumOfTerms<T>(n, [=](int64_t i) {
    const T e = ExpNonPositive(x[i] - max);
    out[i] = e;
    return e;
  });
  const T scale = static_cast<T>(1.0 / sum);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) { out[i] *= scale; }
}

// While the exponentials of a row are computed, the next one comes from memory: a stretch of as many
// terms as SumOfTerms empties its lanes after, so that the sum has the same bits.
template <typename T>
void SoftmaxRowPast(const T* x, T* out, int64_t n) {
  alignas(64) T e[kSoftmaxPast];
  const T max = MaxOf(x, n);
  double sum = 0.0;
  for (int64_t at = 0; at < n; at += kSumStretch) {
    const int64_t count = n - at < kSumStretch ? n - at : kSumStretch;
    for (int64_t i = 0; i < count; i += 64 / static_cast<int64_t>(sizeof(T))) {
      __builtin_prefetch(x + n + at + i, 0, 2);
    }
    sum += SumOfTerms<T>(count, [=, &e](int64_t i) {
      const T term = ExpNonPositive(x[at + i] - max);
      e[at + i] = term;
      return term;
    });
  }
  const T scale = static_cast<T>(1.0 / sum);
  StreamAll(out, n, [&](int64_t i) { return e[i] * scale; });
}

template <typename T>
double SumOfExp(const T* x, int64_t n, T max) {
  return SumOfTerms<T>(n, [=](int64_t i) { return ExpNonPositive(x[i] - max); });
}

template <typename T>
void LogSoftmaxRow(const T* x, T* out, int64_t n) {
  const T max = MaxOf(x, n);
  const T log_sum = static_cast<T>(__builtin_log(SumOfExp(x, n, max)));
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) { out[i] = (x[i] - max) - log_sum; }
}

template <typename T>
void LogSoftmaxRowPast(const T* x, T* out, int64_t n) {
  const T max = MaxOf(x, n);
  const T log_sum = static_cast<T>(__builtin_log(SumOfExp(x, n, max)));
  StreamAll(out, n, [=](int64_t i) { return (x[i] - max) - log_sum; });
}

template <typename T>
void SoftmaxBackwardRow(const T* dy, const T* out, T* dx, int64_t n) {
  const T sum = static_cast<T>(SumOfTerms<T>(n, [=](int64_t i) { return dy[i] * out[i]; }));
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) { dx[i] = (dy[i] - sum) * out[i]; }
}

template <typename T>
void LogSoftmaxBackwardRow(const T* dy, const T* out, T* dx, int64_t n) {
  const T sum = static_cast<T>(SumOfTerms<T>(n, [=](int64_t i) { return dy[i]; }));
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) { dx[i] = dy[i] - Exp(out[i]) * sum; }
}

template <typename T>
void RowLogSum(const T* x, int64_t n, T* max, T* log_sum) {
  *max = MaxOf(x, n);
  *log_sum = static_cast<T>(__builtin_log(SumOfExp(x, n, *max)));
}

template <typename T>
void RowLossBackward(const T* x, T* dx, int64_t n, T max, T log_sum, T a, T b, const T* weight) {
  if (weight == nullptr) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) { dx[i] = a * ExpNonPositive((x[i] - max) - log_sum) - b; }
    return;
  }
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    dx[i] = a * ExpNonPositive((x[i] - max) - log_sum) - b * weight[i];
  }
}

// ---- columns ------------------------------------------------------------------------------------

template <typename T>
void MaxOfColumns(const T* x, int64_t stride, int64_t n, int64_t cols, T* max) {
  for (int64_t j = 0; j < cols; ++j) { max[j] = x[j]; }
  for (int64_t i = 1; i < n; ++i) {
    const T* row = x + i * stride;
    for (int64_t j = 0; j < cols; ++j) { max[j] = row[j] > max[j] ? row[j] : max[j]; }
  }
}

// sum[j] = the sum over i of f(i, j), where f may write.
template <typename T, typename F>
inline __attribute__((always_inline)) void SumOfColumns(int64_t n, int64_t cols, double* sum, F f) {
  constexpr int64_t kStretch = 64;
  for (int64_t j = 0; j < cols; ++j) { sum[j] = 0.0; }
  for (int64_t begin = 0; begin < n; begin += kStretch) {
    const int64_t end = begin + kStretch < n ? begin + kStretch : n;
    T part[kSoftmaxTile] = {};
    for (int64_t i = begin; i < end; ++i) {
#pragma GCC ivdep
      for (int64_t j = 0; j < cols; ++j) { part[j] += f(i, j); }
    }
    for (int64_t j = 0; j < cols; ++j) { sum[j] += static_cast<double>(part[j]); }
  }
}

template <typename T>
void SoftmaxColumns(const T* x, T* out, int64_t stride, int64_t n, int64_t cols) {
  T max[kSoftmaxTile], scale[kSoftmaxTile];
  double sum[kSoftmaxTile];
  MaxOfColumns(x, stride, n, cols, max);
  const T* top = max;
  SumOfColumns<T>(n, cols, sum, [=](int64_t i, int64_t j) {
    const T e = ExpNonPositive(x[i * stride + j] - top[j]);
    out[i * stride + j] = e;
    return e;
  });
  for (int64_t j = 0; j < cols; ++j) { scale[j] = static_cast<T>(1.0 / sum[j]); }
  for (int64_t i = 0; i < n; ++i) {
#pragma GCC ivdep
    for (int64_t j = 0; j < cols; ++j) { out[i * stride + j] *= scale[j]; }
  }
}

template <typename T>
void ColumnsLogSum(const T* x, int64_t stride, int64_t n, int64_t cols, T* max, T* log_sum) {
  double sum[kSoftmaxTile];
  MaxOfColumns(x, stride, n, cols, max);
  SumOfColumns<T>(n, cols, sum,
                  [=](int64_t i, int64_t j) { return ExpNonPositive(x[i * stride + j] - max[j]); });
  for (int64_t j = 0; j < cols; ++j) { log_sum[j] = static_cast<T>(__builtin_log(sum[j])); }
}

template <typename T>
void ColumnsLossBackward(const T* x, T* dx, int64_t stride, int64_t n, int64_t cols, const T* max,
                         const T* log_sum, const T* a, const T* b, const T* weight) {
  for (int64_t i = 0; i < n; ++i) {
    const T w = weight == nullptr ? T{1} : weight[i];
    const T* from = x + i * stride;
    T* to = dx + i * stride;
#pragma GCC ivdep
    for (int64_t j = 0; j < cols; ++j) {
      to[j] = a[j] * ExpNonPositive((from[j] - max[j]) - log_sum[j]) - b[j] * w;
    }
  }
}

template <typename T>
void LogSoftmaxColumns(const T* x, T* out, int64_t stride, int64_t n, int64_t cols) {
  T max[kSoftmaxTile], log_sum[kSoftmaxTile];
  ColumnsLogSum(x, stride, n, cols, max, log_sum);
  for (int64_t i = 0; i < n; ++i) {
#pragma GCC ivdep
    for (int64_t j = 0; j < cols; ++j) {
      out[i * stride + j] = (x[i * stride + j] - max[j]) - log_sum[j];
    }
  }
}

template <typename T>
void SoftmaxBackwardColumns(const T* dy, const T* out, T* dx, int64_t stride, int64_t n,
                            int64_t cols) {
  double sum[kSoftmaxTile];
  T rounded[kSoftmaxTile];
  SumOfColumns<T>(n, cols, sum,
                  [=](int64_t i, int64_t j) { return dy[i * stride + j] * out[i * stride + j]; });
  for (int64_t j = 0; j < cols; ++j) { rounded[j] = static_cast<T>(sum[j]); }
  for (int64_t i = 0; i < n; ++i) {
#pragma GCC ivdep
    for (int64_t j = 0; j < cols; ++j) {
      dx[i * stride + j] = (dy[i * stride + j] - rounded[j]) * out[i * stride + j];
    }
  }
}

template <typename T>
void LogSoftmaxBackwardColumns(const T* dy, const T* out, T* dx, int64_t stride, int64_t n,
                               int64_t cols) {
  double sum[kSoftmaxTile];
  T rounded[kSoftmaxTile];
  SumOfColumns<T>(n, cols, sum, [=](int64_t i, int64_t j) { return dy[i * stride + j]; });
  for (int64_t j = 0; j < cols; ++j) { rounded[j] = static_cast<T>(sum[j]); }
  for (int64_t i = 0; i < n; ++i) {
#pragma GCC ivdep
    for (int64_t j = 0; j < cols; ++j) {
      dx[i * stride + j] = dy[i * stride + j] - Exp(out[i * stride + j]) * rounded[j];
    }
  }
}

template <typename T>
constexpr SoftmaxLoops<T> MakeLoops() {
  return {{&SoftmaxRow<T>, &SoftmaxRowPast<T>, &SoftmaxColumns<T>, &SoftmaxBackwardRow<T>,
           &SoftmaxBackwardColumns<T>},
          {&LogSoftmaxRow<T>, &LogSoftmaxRowPast<T>, &LogSoftmaxColumns<T>,
           &LogSoftmaxBackwardRow<T>, &LogSoftmaxBackwardColumns<T>},
          &RowLogSum<T>,
          &ColumnsLogSum<T>,
          &RowLossBackward<T>,
          &ColumnsLossBackward<T>};
}

constexpr SoftmaxLoopTable kLoops = {MakeLoops<float>(), MakeLoops<double>()};

}  // namespace

const SoftmaxLoopTable& GetSoftmaxLoopTable() { return kLoops; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
