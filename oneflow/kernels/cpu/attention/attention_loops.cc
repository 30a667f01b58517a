// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/attention/attention_loops.h"

#include "oneflow/kernels/cpu/exp.h"

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

constexpr int kLanes = 16;

// scores = scale * scores + mask, over [0, n).
template <typename T>
void ApplyMask(T* scores, int64_t n, T scale, const MaskRow& mask) {
  const T hidden = -static_cast<T>(__builtin_inf());
  if (mask.data == nullptr) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) { scores[i] *= scale; }
  } else if (mask.is_bool) {
    const auto* seen = static_cast<const unsigned char*>(mask.data);
    for (int64_t i = 0; i < n; ++i) {
      scores[i] = seen[i * mask.stride] != 0 ? scores[i] * scale : hidden;
    }
  } else if (mask.stride == 1) {
    const T* add = static_cast<const T*>(mask.data);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) { scores[i] = scores[i] * scale + add[i]; }
  } else {
    const T* add = static_cast<const T*>(mask.data);
    for (int64_t i = 0; i < n; ++i) { scores[i] = scores[i] * scale + add[i * mask.stride]; }
  }
}

template <typename T>
T MaxOf(const T* x, int64_t n) {
  T lanes[kLanes];
  for (int l = 0; l < kLanes; ++l) { lanes[l] = -static_cast<T>(__builtin_inf()); }
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) { lanes[l] = x[i + l] > lanes[l] ? x[i + l] : lanes[l]; }
  }
  for (int l = 0; i + l < n; ++l) { lanes[l] = x[i + l] > lanes[l] ? x[i + l] : lanes[l]; }
  T max = lanes[0];
  for (int l = 1; l < kLanes; ++l) { max = lanes[l] > max ? lanes[l] : max; }
  return max;
}

template <typename T>
double Fold(const T* lanes) {
  double sum = 0;
  for (int l = 0; l < kLanes; ++l) { sum += static_cast<double>(lanes[l]); }
  return sum;
}

// x[i] = exp(x[i] - shift); returns the sum.
template <typename T>
double ExpAll(T* x, int64_t n, T shift) {
  T lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) {
      x[i + l] = Exp(x[i + l] - shift);
      lanes[l] += x[i + l];
    }
  }
  for (int l = 0; i + l < n; ++l) {
    x[i + l] = Exp(x[i + l] - shift);
    lanes[l] += x[i + l];
  }
  return Fold(lanes);
}

template <typename T>
void Clear(T* x, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) { x[i] = T(0); }
}

template <typename T>
double Softmax(void* scores, int64_t valid, int64_t n, double scale, const MaskRow& mask,
               double* max) {
  T* x = static_cast<T*>(scores);
  ApplyMask(x, valid, static_cast<T>(scale), mask);
  const T top = MaxOf(x, valid);
  *max = static_cast<double>(top);
  if (top == -static_cast<T>(__builtin_inf())) {
    // Nothing is seen, or all scores are NaN, which then stays.
    bool nan = false;
    for (int64_t i = 0; i < valid; ++i) { nan = nan || x[i] != x[i]; }
    if (!nan) {
      Clear(x, 0, n);
      return 0.0;
    }
  }
  Clear(x, valid, n);
  return ExpAll(x, valid, top);
}

template <typename T>
void Weights(void* scores, int64_t valid, int64_t n, double scale, const MaskRow& mask,
             double log_sum) {
  T* x = static_cast<T*>(scores);
  const T shift = static_cast<T>(log_sum);
  ApplyMask(x, valid, static_cast<T>(scale), mask);
#pragma GCC ivdep
  for (int64_t i = 0; i < valid; ++i) { x[i] = Exp(x[i] - shift); }
  Clear(x, valid, n);
}

template <typename T>
void ScoresGrad(const void* weights, void* d, int64_t n, double dot, double scale) {
  const T* w = static_cast<const T*>(weights);
  T* g = static_cast<T*>(d);
  const T minus = static_cast<T>(dot), factor = static_cast<T>(scale);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) { g[i] = w[i] * (g[i] - minus) * factor; }
}

template <typename T>
void Scale(void* row, int64_t n, double factor) {
  T* x = static_cast<T*>(row);
  const T f = static_cast<T>(factor);
  for (int64_t i = 0; i < n; ++i) { x[i] *= f; }
}

template <typename T>
double Dot(const void* a, const void* b, int64_t n) {
  const T* x = static_cast<const T*>(a);
  const T* y = static_cast<const T*>(b);
  T lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) { lanes[l] += x[i + l] * y[i + l]; }
  }
  for (int l = 0; i + l < n; ++l) { lanes[l] += x[i + l] * y[i + l]; }
  return Fold(lanes);
}

template <typename T>
void Add(void* to, const void* from, int64_t n) {
  T* sum = static_cast<T*>(to);
  const T* x = static_cast<const T*>(from);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) { sum[i] += x[i]; }
}

template <typename T>
constexpr void Fill(AttentionLoops* table, DataType dtype) {
  const int d = static_cast<int>(dtype);
  table->softmax[d] = &Softmax<T>;
  table->weights[d] = &Weights<T>;
  table->scores_grad[d] = &ScoresGrad<T>;
  table->scale[d] = &Scale<T>;
  table->dot[d] = &Dot<T>;
  table->add[d] = &Add<T>;
}

constexpr AttentionLoops MakeLoops() {
  AttentionLoops table = {};
  Fill<float>(&table, DataType::kFloat);
  Fill<double>(&table, DataType::kDouble);
  return table;
}

constexpr AttentionLoops kLoops = MakeLoops();

}  // namespace

const AttentionLoops& GetAttentionLoops() { return kLoops; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
