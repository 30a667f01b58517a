// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/softmax_loops.h"

#include "oneflow/kernels/cpu/exp.h"

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

constexpr int kLanes = 16;

template <typename T>
T Fold(T* lanes) {
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int l = 0; l < width; ++l) { lanes[l] += lanes[l + width]; }
  }
  return lanes[0];
}

template <typename T>
T MaxOf(const T* x, int64_t n) {
  T lanes[kLanes];
  for (int l = 0; l < kLanes; ++l) { lanes[l] = x[0]; }
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) { lanes[l] = x[i + l] > lanes[l] ? x[i + l] : lanes[l]; }
  }
  for (; i < n; ++i) { lanes[0] = x[i] > lanes[0] ? x[i] : lanes[0]; }
  T max = lanes[0];
  for (int l = 1; l < kLanes; ++l) { max = lanes[l] > max ? lanes[l] : max; }
  return max;
}

template <typename T>
double SumOfExp(const T* x, int64_t n, T max) {
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) { lanes[l] += static_cast<double>(Exp(x[i + l] - max)); }
  }
  // The rest goes through the same vector code: filled up with -inf, whose exponential is 0.
  if (i < n) {
    T rest[kLanes];
    for (int l = 0; l < kLanes; ++l) { rest[l] = i + l < n ? x[i + l] - max : -__builtin_inff(); }
    for (int l = 0; l < kLanes; ++l) { lanes[l] += static_cast<double>(Exp(rest[l])); }
  }
  return Fold(lanes);
}

template <typename T>
void Row(const void* x, void* out, int64_t n) {
  const T* from = static_cast<const T*>(x);
  T* to = static_cast<T*>(out);
  const T max = MaxOf(from, n);
  const T log_sum = static_cast<T>(__builtin_log(SumOfExp(from, n, max)));
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) { to[i] = (from[i] - max) - log_sum; }
}

template <typename T>
void Columns(const void* x, void* out, int64_t stride, int64_t n, int64_t cols) {
  const T* from = static_cast<const T*>(x);
  T* to = static_cast<T*>(out);
  T max[kSoftmaxTile];
  double sum[kSoftmaxTile] = {};
  T log_sum[kSoftmaxTile];
  for (int64_t j = 0; j < cols; ++j) { max[j] = from[j]; }
  for (int64_t i = 1; i < n; ++i) {
    const T* row = from + i * stride;
    for (int64_t j = 0; j < cols; ++j) { max[j] = row[j] > max[j] ? row[j] : max[j]; }
  }
  for (int64_t i = 0; i < n; ++i) {
    const T* row = from + i * stride;
    for (int64_t j = 0; j < cols; ++j) { sum[j] += static_cast<double>(Exp(row[j] - max[j])); }
  }
  for (int64_t j = 0; j < cols; ++j) { log_sum[j] = static_cast<T>(__builtin_log(sum[j])); }
  for (int64_t i = 0; i < n; ++i) {
#pragma GCC ivdep
    for (int64_t j = 0; j < cols; ++j) {
      to[i * stride + j] = (from[i * stride + j] - max[j]) - log_sum[j];
    }
  }
}

template <typename T>
double SumOf(const T* x, int64_t n) {
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) { lanes[l] += static_cast<double>(x[i + l]); }
  }
  for (int l = 0; i + l < n; ++l) { lanes[l] += static_cast<double>(x[i + l]); }
  return Fold(lanes);
}

template <typename T>
void BackwardRow(const void* dy, const void* out, void* dx, int64_t n) {
  const T* g = static_cast<const T*>(dy);
  const T* y = static_cast<const T*>(out);
  T* to = static_cast<T*>(dx);
  const T sum = static_cast<T>(SumOf(g, n));
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) { to[i] = g[i] - Exp(y[i]) * sum; }
}

template <typename T>
void BackwardColumns(const void* dy, const void* out, void* dx, int64_t stride, int64_t n,
                     int64_t cols) {
  const T* g = static_cast<const T*>(dy);
  const T* y = static_cast<const T*>(out);
  T* to = static_cast<T*>(dx);
  double sum[kSoftmaxTile] = {};
  T rounded[kSoftmaxTile];
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < cols; ++j) { sum[j] += static_cast<double>(g[i * stride + j]); }
  }
  for (int64_t j = 0; j < cols; ++j) { rounded[j] = static_cast<T>(sum[j]); }
  for (int64_t i = 0; i < n; ++i) {
#pragma GCC ivdep
    for (int64_t j = 0; j < cols; ++j) {
      to[i * stride + j] = g[i * stride + j] - Exp(y[i * stride + j]) * rounded[j];
    }
  }
}

template <typename T>
constexpr void Fill(SoftmaxLoops* table, DataType dtype) {
  const int d = static_cast<int>(dtype);
  table->row[d] = &Row<T>;
  table->columns[d] = &Columns<T>;
  table->backward_row[d] = &BackwardRow<T>;
  table->backward_columns[d] = &BackwardColumns<T>;
}

constexpr SoftmaxLoops MakeLoops() {
  SoftmaxLoops table = {};
  Fill<float>(&table, DataType::kFloat);
  Fill<double>(&table, DataType::kDouble);
  return table;
}

constexpr SoftmaxLoops kLoops = MakeLoops();

}  // namespace

const SoftmaxLoops& GetSoftmaxLoops() { return kLoops; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
