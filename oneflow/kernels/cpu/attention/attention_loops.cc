// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/attention/attention_loops.h"

#include "oneflow/kernels/cpu/exp.h"

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

constexpr int kLanes = 16;

struct BFloat16 {
  uint16_t bits;
};
inline __attribute__((always_inline)) float Wide(BFloat16 x) {
  return BitCast<float>(static_cast<uint32_t>(x.bits) << 16);
}
inline __attribute__((always_inline)) float Wide(float x) { return x; }
inline __attribute__((always_inline)) double Wide(double x) { return x; }

// scores = scale * scores + mask, over [0, n).
template <typename T, typename Mask>
void AddMask(T* scores, int64_t n, T scale, const Mask* add, int64_t stride) {
  if (stride == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) { scores[i] = scores[i] * scale + Wide(add[i]); }
    return;
  }
  for (int64_t i = 0; i < n; ++i) { scores[i] = scores[i] * scale + Wide(add[i * stride]); }
}

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
  } else if (mask.is_bfloat16) {
    AddMask(scores, n, scale, static_cast<const BFloat16*>(mask.data), mask.stride);
  } else {
    AddMask(scores, n, scale, static_cast<const T*>(mask.data), mask.stride);
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
double Softmax(const ScoreRow& row, double* max) {
  T* x = static_cast<T*>(row.scores);
  const int64_t valid = row.valid;
  ApplyMask(x, valid, static_cast<T>(row.scale), row.mask);
  const T top = MaxOf(x, valid);
  *max = static_cast<double>(top);
  if (top == -static_cast<T>(__builtin_inf())) {
    // Nothing is seen, or all scores are NaN, which then stays.
    bool nan = false;
    for (int64_t i = 0; i < valid; ++i) { nan = nan || x[i] != x[i]; }
    if (!nan) {
      Clear(x, 0, row.n);
      return 0.0;
    }
  }
  Clear(x, valid, row.n);
  const double sum = ExpAll(x, valid, top);
  if (row.kept != nullptr) {
    const uint8_t* kept = row.kept;
#pragma GCC ivdep
    for (int64_t i = 0; i < valid; ++i) { x[i] = kept[i] != 0 ? x[i] : T(0); }
  }
  return sum;
}

template <typename T>
void Gradient(const ScoreRow& row, void* d, double log_sum, double dot, double factor) {
  T* x = static_cast<T*>(row.scores);
  T* g = static_cast<T*>(d);
  const T shift = static_cast<T>(log_sum), minus = static_cast<T>(dot);
  const T scale = static_cast<T>(row.scale), f = static_cast<T>(factor);
  ApplyMask(x, row.valid, scale, row.mask);
  if (row.kept == nullptr) {
#pragma GCC ivdep
    for (int64_t i = 0; i < row.valid; ++i) {
      x[i] = Exp(x[i] - shift);
      g[i] = x[i] * (g[i] - minus) * scale;
    }
  } else {
    const uint8_t* kept = row.kept;
#pragma GCC ivdep
    for (int64_t i = 0; i < row.valid; ++i) {
      const T w = Exp(x[i] - shift);
      const T k = kept[i] != 0 ? f : T(0);
      x[i] = w * k;
      g[i] = w * (g[i] * k - minus) * scale;
    }
  }
  Clear(x, row.valid, row.n);
  Clear(g, row.valid, row.n);
}

template <typename T>
void Scale(void* row, int64_t n, double factor) {
  T* x = static_cast<T*>(row);
  const T f = static_cast<T>(factor);
  for (int64_t i = 0; i < n; ++i) { x[i] *= f; }
}

template <typename T, typename Operand>
double Dot(const void* a, const void* b, int64_t n) {
  const Operand* x = static_cast<const Operand*>(a);
  const Operand* y = static_cast<const Operand*>(b);
  T lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) { lanes[l] += Wide(x[i + l]) * Wide(y[i + l]); }
  }
  for (int l = 0; i + l < n; ++l) { lanes[l] += Wide(x[i + l]) * Wide(y[i + l]); }
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
  table->gradient[d] = &Gradient<T>;
  table->scale[d] = &Scale<T>;
  table->dot[d] = &Dot<T, T>;
  table->add[d] = &Add<T>;
}

constexpr AttentionLoops MakeLoops() {
  AttentionLoops table = {};
  Fill<float>(&table, DataType::kFloat);
  Fill<double>(&table, DataType::kDouble);
  table.dot[static_cast<int>(DataType::kBFloat16)] = &Dot<float, BFloat16>;
  return table;
}

constexpr AttentionLoops kLoops = MakeLoops();

}  // namespace

const AttentionLoops& GetAttentionLoops() { return kLoops; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
