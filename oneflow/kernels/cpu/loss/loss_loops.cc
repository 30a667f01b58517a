// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/loss/loss_loops.h"

#include "oneflow/kernels/cpu/lane_sums.h"
#include "oneflow/kernels/cpu/loss/log.h"

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

#define ONEFLOW_INLINE static inline __attribute__((always_inline))

// ---- the losses: value, derivative by x, derivative by t; p is the weight of positives ----------

template <typename T>
ONEFLOW_INLINE T Abs(T x) {
  return x < T{0} ? -x : x;
}
template <typename T>
ONEFLOW_INLINE T Sign(T x) {
  return x > T{0} ? T{1} : (x < T{0} ? T{-1} : x);
}
template <typename T>
ONEFLOW_INLINE T AtLeast(T x, T least) {
  return x < least ? least : x;
}

struct Square {
  template <typename T>
  ONEFLOW_INLINE T Value(T x, T t, T, T) {
    return (x - t) * (x - t);
  }
  template <typename T>
  ONEFLOW_INLINE T ByX(T x, T t, T, T) {
    return T{2} * (x - t);
  }
  template <typename T>
  ONEFLOW_INLINE T ByT(T x, T t, T, T) {
    return T{2} * (t - x);
  }
};

struct Absolute {
  template <typename T>
  ONEFLOW_INLINE T Value(T x, T t, T, T) {
    return Abs(x - t);
  }
  template <typename T>
  ONEFLOW_INLINE T ByX(T x, T t, T, T) {
    return Sign(x - t);
  }
  template <typename T>
  ONEFLOW_INLINE T ByT(T x, T t, T, T) {
    return Sign(t - x);
  }
};

struct Smooth {
  template <typename T>
  ONEFLOW_INLINE T Value(T x, T t, T, T beta) {
    const T d = Abs(x - t);
    return d < beta ? T{0.5} * d * d / beta : d - T{0.5} * beta;
  }
  template <typename T>
  ONEFLOW_INLINE T ByX(T x, T t, T, T beta) {
    return Abs(x - t) < beta ? (x - t) / beta : Sign(x - t);
  }
  template <typename T>
  ONEFLOW_INLINE T ByT(T x, T t, T, T beta) {
    return -ByX<T>(x, t, T{0}, beta);
  }
};

struct Huber {
  template <typename T>
  ONEFLOW_INLINE T Value(T x, T t, T, T beta) {
    const T d = Abs(x - t);
    return d <= beta ? T{0.5} * d * d : beta * (d - T{0.5} * beta);
  }
  template <typename T>
  ONEFLOW_INLINE T ByX(T x, T t, T, T beta) {
    return Abs(x - t) <= beta ? x - t : beta * Sign(x - t);
  }
  template <typename T>
  ONEFLOW_INLINE T ByT(T x, T t, T, T beta) {
    return -ByX<T>(x, t, T{0}, beta);
  }
};

struct Binary {
  template <typename T>
  ONEFLOW_INLINE T Value(T x, T t, T, T) {
    const T yes = AtLeast(Log(x), T{-100});
    const T no = AtLeast(Log1m(x), T{-100});
    return (t - T{1}) * no - t * yes;
  }
  template <typename T>
  ONEFLOW_INLINE T ByX(T x, T t, T, T) {
    return (x - t) / AtLeast((T{1} - x) * x, static_cast<T>(1e-12));
  }
  template <typename T>
  ONEFLOW_INLINE T ByT(T x, T, T, T) {
    return AtLeast(Log1m(x), T{-100}) - AtLeast(Log(x), T{-100});
  }
};

struct Logits {
  // ln(1 + exp(-x))
  template <typename T>
  ONEFLOW_INLINE T Softplus(T x) {
    return Log1pUnit(Exp(-Abs(x))) + AtLeast(-x, T{0});
  }
  template <typename T>
  ONEFLOW_INLINE T Value(T x, T t, T p, T) {
    return (T{1} - t) * x + (T{1} + (p - T{1}) * t) * Softplus(x);
  }
  template <typename T>
  ONEFLOW_INLINE T ByX(T x, T t, T p, T) {
    const T e = Exp(-Abs(x));
    const T no = (x > T{0} ? e : T{1}) / (T{1} + e);  // 1 - sigmoid(x)
    return (T{1} - t) - (T{1} + (p - T{1}) * t) * no;
  }
  template <typename T>
  ONEFLOW_INLINE T ByT(T x, T, T p, T) {
    return (p - T{1}) * Softplus(x) - x;
  }
};

struct Divergence {
  template <typename T>
  ONEFLOW_INLINE T Value(T x, T t, T, T) {
    return t > T{0} ? t * (Log(t) - x) : T{0};
  }
  template <typename T>
  ONEFLOW_INLINE T ByX(T, T t, T, T) {
    return t > T{0} ? -t : T{0};
  }
  template <typename T>
  ONEFLOW_INLINE T ByT(T x, T t, T, T) {
    return t > T{0} ? Log(t) + T{1} - x : T{0};
  }
};

struct LogDivergence {
  template <typename T>
  ONEFLOW_INLINE T Value(T x, T t, T, T) {
    return Exp(t) * (t - x);
  }
  template <typename T>
  ONEFLOW_INLINE T ByX(T, T t, T, T) {
    return -Exp(t);
  }
  template <typename T>
  ONEFLOW_INLINE T ByT(T x, T t, T, T) {
    return Exp(t) * (t - x + T{1});
  }
};

// ---- loops --------------------------------------------------------------------------------------

template <typename T>
ONEFLOW_INLINE T At(const T* data, int64_t i) {
  return data == nullptr ? T{1} : data[i];
}

template <typename T>
bool Plain(const LossOperands<T>& a) {
  return a.weight == nullptr && a.positive_weight == nullptr;
}

template <typename T, typename Loss>
double Sum(const LossOperands<T>& a, int64_t n) {
  const T* x = a.x;
  const T* t = a.t;
  const T* w = a.weight;
  const T* p = a.positive_weight;
  const T beta = a.beta;
  if (Plain(a)) {
    return SumOfTerms<T>(n, [=](int64_t i) { return Loss::Value(x[i], t[i], T{1}, beta); });
  }
  return SumOfTerms<T>(
      n, [=](int64_t i) { return At(w, i) * Loss::Value(x[i], t[i], At(p, i), beta); });
}

template <typename T, typename Loss>
void Each(const LossOperands<T>& a, T* out, int64_t n) {
  if (Plain(a)) {
    const T beta = a.beta;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) { out[i] = Loss::Value(a.x[i], a.t[i], T{1}, beta); }
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    out[i] = At(a.weight, i) * Loss::Value(a.x[i], a.t[i], At(a.positive_weight, i), a.beta);
  }
}

// The derivative by x, or by t.
template <bool kByX, typename Loss, typename T>
ONEFLOW_INLINE T Derivative(T x, T t, T p, T beta) {
  if constexpr (kByX) {
    return Loss::ByX(x, t, p, beta);
  } else {
    return Loss::ByT(x, t, p, beta);
  }
}

template <typename T, typename Loss, bool kByX>
void Backward(const LossOperands<T>& a, const T* dy, T scale, T* out, int64_t n) {
  const T beta = a.beta;
  if (!Plain(a)) {
    for (int64_t i = 0; i < n; ++i) {
      const T d = Derivative<kByX, Loss>(a.x[i], a.t[i], At(a.positive_weight, i), beta);
      out[i] = scale * At(dy, i) * At(a.weight, i) * d;
    }
  } else if (dy == nullptr) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      out[i] = scale * Derivative<kByX, Loss>(a.x[i], a.t[i], T{1}, beta);
    }
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      out[i] = scale * dy[i] * Derivative<kByX, Loss>(a.x[i], a.t[i], T{1}, beta);
    }
  }
}

template <typename T, typename Loss>
constexpr LossLoops<T> Make() {
  return {&Sum<T, Loss>, &Each<T, Loss>, &Backward<T, Loss, true>, &Backward<T, Loss, false>};
}

// In the order of LossKind.
#define ONEFLOW_LOSSES(T)                                                           \
  {Make<T, Square>(), Make<T, Absolute>(), Make<T, Smooth>(),     Make<T, Huber>(), \
   Make<T, Binary>(), Make<T, Logits>(),   Make<T, Divergence>(), Make<T, LogDivergence>()}
constexpr LossLoopTable kLoops = {ONEFLOW_LOSSES(float), ONEFLOW_LOSSES(double)};
#undef ONEFLOW_LOSSES
#undef ONEFLOW_INLINE

}  // namespace

const LossLoopTable& GetLossLoopTable() { return kLoops; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
