// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/optim/update_loops.h"

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

inline float Root(float x) { return __builtin_sqrtf(x); }
inline double Root(double x) { return __builtin_sqrt(x); }

// What every rule takes from the attributes, in the type it computes in.
template <typename T>
struct Common {
  T lr, scale, l2, decay;

  explicit Common(const ListUpdateAttrs& a)
      : lr(static_cast<T>(a.lr)),
        scale(static_cast<T>(a.scale)),
        l2(static_cast<T>(a.l2)),
        decay(static_cast<T>(a.lr * a.weight_decay)) {}
};

template <typename T>
void Sgd(void* const* targets, const void* grad, int64_t n, const ListUpdateAttrs& a) {
  const Common<T> c(a);
  T* __restrict p = static_cast<T*>(targets[0]);
  const T* __restrict d = static_cast<const T*>(grad);
  for (int64_t i = 0; i < n; ++i) {
    p[i] = p[i] - c.lr * (c.scale * d[i] + c.l2 * p[i]) - c.decay * p[i];
  }
}

template <typename T, bool kNesterov>
void MomentumLoop(T* __restrict p, T* __restrict buffer, const T* __restrict d, int64_t n,
                  const ListUpdateAttrs& a) {
  const Common<T> c(a);
  const T momentum = static_cast<T>(a.beta1);
  const T fresh = static_cast<T>(1.0 - a.beta2);
  const T step = a.maximize ? c.lr : -c.lr;
  for (int64_t i = 0; i < n; ++i) {
    const T g = c.scale * d[i] + c.l2 * p[i];
    const T b = momentum * buffer[i] + fresh * g;
    buffer[i] = b;
    p[i] = p[i] + step * (kNesterov ? g + momentum * b : b) - c.decay * p[i];
  }
}

template <typename T>
void Momentum(void* const* targets, const void* grad, int64_t n, const ListUpdateAttrs& a) {
  T* p = static_cast<T*>(targets[0]);
  T* buffer = static_cast<T*>(targets[1]);
  const T* d = static_cast<const T*>(grad);
  a.nesterov ? MomentumLoop<T, true>(p, buffer, d, n, a)
             : MomentumLoop<T, false>(p, buffer, d, n, a);
}

template <typename T, bool kLargest>
void AdamLoop(T* __restrict p, T* __restrict m, T* __restrict v, T* __restrict largest,
              const T* __restrict d, int64_t n, const ListUpdateAttrs& a) {
  const Common<T> c(a);
  const T beta1 = static_cast<T>(a.beta1);
  const T beta2 = static_cast<T>(a.beta2);
  const T fresh1 = static_cast<T>(1.0 - a.beta1);
  const T fresh2 = static_cast<T>(1.0 - a.beta2);
  const T epsilon = static_cast<T>(a.epsilon);
  const T step = static_cast<T>(a.lr / a.bias_correction1);
  const T widen = static_cast<T>(1.0 / __builtin_sqrt(a.bias_correction2));
  for (int64_t i = 0; i < n; ++i) {
    const T g = c.scale * d[i] + c.l2 * p[i];
    const T mean = beta1 * m[i] + fresh1 * g;
    T square = beta2 * v[i] + fresh2 * g * g;
    m[i] = mean;
    v[i] = square;
    if (kLargest) {
      // Not `square > largest`: a NaN must pass.
      square = !(square <= largest[i]) ? square : largest[i];
      largest[i] = square;
    }
    p[i] = p[i] - step * (mean / (Root(square) * widen + epsilon)) - c.decay * p[i];
  }
}

template <typename T>
void Adam(void* const* targets, const void* grad, int64_t n, const ListUpdateAttrs& a) {
  T* p = static_cast<T*>(targets[0]);
  T* m = static_cast<T*>(targets[1]);
  T* v = static_cast<T*>(targets[2]);
  const T* d = static_cast<const T*>(grad);
  if (a.states == 3) { return AdamLoop<T, true>(p, m, v, static_cast<T*>(targets[3]), d, n, a); }
  AdamLoop<T, false>(p, m, v, nullptr, d, n, a);
}

template <typename T>
void Adagrad(void* const* targets, const void* grad, int64_t n, const ListUpdateAttrs& a) {
  const Common<T> c(a);
  T* __restrict p = static_cast<T*>(targets[0]);
  T* __restrict sum = static_cast<T*>(targets[1]);
  const T* __restrict d = static_cast<const T*>(grad);
  const T epsilon = static_cast<T>(a.epsilon);
  for (int64_t i = 0; i < n; ++i) {
    const T g = c.scale * d[i] + c.l2 * p[i];
    const T squares = sum[i] + g * g;
    sum[i] = squares;
    p[i] = p[i] - c.lr * (g / (Root(squares) + epsilon)) - c.decay * p[i];
  }
}

template <typename T>
void Adadelta(void* const* targets, const void* grad, int64_t n, const ListUpdateAttrs& a) {
  const Common<T> c(a);
  T* __restrict p = static_cast<T*>(targets[0]);
  T* __restrict squares = static_cast<T*>(targets[1]);
  T* __restrict deltas = static_cast<T*>(targets[2]);
  const T* __restrict d = static_cast<const T*>(grad);
  const T rho = static_cast<T>(a.beta1);
  const T fresh = static_cast<T>(1.0 - a.beta1);
  const T epsilon = static_cast<T>(a.epsilon);
  const T scale = a.maximize ? -c.scale : c.scale;
  for (int64_t i = 0; i < n; ++i) {
    const T g = scale * d[i] + c.l2 * p[i];
    const T square = rho * squares[i] + fresh * g * g;
    const T delta = Root(deltas[i] + epsilon) / Root(square + epsilon) * g;
    squares[i] = square;
    deltas[i] = rho * deltas[i] + fresh * delta * delta;
    p[i] = p[i] - c.lr * delta - c.decay * p[i];
  }
}

template <typename T, bool kCentered, bool kMomentum>
void RmspropLoop(T* __restrict p, T* __restrict squares, T* __restrict means, T* __restrict buffer,
                 const T* __restrict d, int64_t n, const ListUpdateAttrs& a) {
  const Common<T> c(a);
  const T alpha = static_cast<T>(a.beta1);
  const T fresh = static_cast<T>(1.0 - a.beta1);
  const T momentum = static_cast<T>(a.beta2);
  const T epsilon = static_cast<T>(a.epsilon);
  for (int64_t i = 0; i < n; ++i) {
    const T g = c.scale * d[i] + c.l2 * p[i];
    T spread = alpha * squares[i] + fresh * g * g;
    squares[i] = spread;
    if (kCentered) {
      const T mean = alpha * means[i] + fresh * g;
      means[i] = mean;
      spread = spread - mean * mean;
      // Where gradients are all alike it is zero, and rounding may make it less. NaN must pass.
      spread = spread < 0 ? T{0} : spread;
    }
    T step = c.lr * (g / Root(spread + epsilon));
    if (kMomentum) {
      step = momentum * buffer[i] + step;
      buffer[i] = step;
    }
    p[i] = p[i] - step - c.decay * p[i];
  }
}

template <typename T>
void Rmsprop(void* const* targets, const void* grad, int64_t n, const ListUpdateAttrs& a) {
  T* p = static_cast<T*>(targets[0]);
  T* squares = static_cast<T*>(targets[1]);
  const T* d = static_cast<const T*>(grad);
  const bool momentum = a.beta2 != 0;
  T* means = a.centered ? static_cast<T*>(targets[2]) : nullptr;
  T* buffer = momentum ? static_cast<T*>(targets[a.centered ? 3 : 2]) : nullptr;
  if (a.centered) {
    return momentum ? RmspropLoop<T, true, true>(p, squares, means, buffer, d, n, a)
                    : RmspropLoop<T, true, false>(p, squares, means, buffer, d, n, a);
  }
  momentum ? RmspropLoop<T, false, true>(p, squares, means, buffer, d, n, a)
           : RmspropLoop<T, false, false>(p, squares, means, buffer, d, n, a);
}

// What LAMB and its norms share: the step before the trust ratio.
template <typename T>
struct LambStep {
  T one, widen, epsilon;

  explicit LambStep(const ListUpdateAttrs& a)
      : one(static_cast<T>(1.0 / a.bias_correction1)),
        widen(static_cast<T>(1.0 / __builtin_sqrt(a.bias_correction2))),
        epsilon(static_cast<T>(a.epsilon)) {}
  inline T operator()(T m, T v) const { return m * one / (Root(v) * widen + epsilon); }
};

template <typename T>
void LambMoments(void* const* targets, const void* grad, int64_t n, const ListUpdateAttrs& a) {
  const Common<T> c(a);
  const T* __restrict p = static_cast<const T*>(targets[0]);
  T* __restrict m = static_cast<T*>(targets[1]);
  T* __restrict v = static_cast<T*>(targets[2]);
  const T* __restrict d = static_cast<const T*>(grad);
  const T beta1 = static_cast<T>(a.beta1);
  const T beta2 = static_cast<T>(a.beta2);
  const T fresh1 = static_cast<T>(1.0 - a.beta1);
  const T fresh2 = static_cast<T>(1.0 - a.beta2);
  for (int64_t i = 0; i < n; ++i) {
    const T g = c.scale * d[i] + c.l2 * p[i];
    m[i] = beta1 * m[i] + fresh1 * g;
    v[i] = beta2 * v[i] + fresh2 * g * g;
  }
}

// Running sums that do not depend on the instruction set.
constexpr int kLanes = 16;

template <typename T>
void LambNorms(void* const* targets, int64_t n, const ListUpdateAttrs& a, double* sums) {
  const LambStep<T> step(a);
  const T* p = static_cast<const T*>(targets[0]);
  const T* m = static_cast<const T*>(targets[1]);
  const T* v = static_cast<const T*>(targets[2]);
  double weights[kLanes] = {};
  double steps[kLanes] = {};
  for (int64_t i = 0; i < n; i += kLanes) {
    const int64_t count = n - i < kLanes ? n - i : kLanes;
    for (int64_t l = 0; l < count; ++l) {
      const double w = p[i + l];
      const double s = step(m[i + l], v[i + l]);
      weights[l] += w * w;
      steps[l] += s * s;
    }
  }
  for (int l = 0; l < kLanes; ++l) {
    sums[0] += weights[l];
    sums[1] += steps[l];
  }
}

template <typename T>
void LambParam(void* const* targets, const void*, int64_t n, const ListUpdateAttrs& a) {
  const Common<T> c(a);
  const LambStep<T> step(a);
  T* __restrict p = static_cast<T*>(targets[0]);
  const T* __restrict m = static_cast<const T*>(targets[1]);
  const T* __restrict v = static_cast<const T*>(targets[2]);
  for (int64_t i = 0; i < n; ++i) { p[i] = p[i] - c.lr * step(m[i], v[i]) - c.decay * p[i]; }
}

template <typename T>
void Scale(void* x, int64_t n, double factor) {
  T* __restrict e = static_cast<T*>(x);
  const T f = static_cast<T>(factor);
  for (int64_t i = 0; i < n; ++i) { e[i] = e[i] * f; }
}

template <typename T>
void Clamp(void* x, int64_t n, double low, double high) {
  T* __restrict e = static_cast<T*>(x);
  const T least = static_cast<T>(low);
  const T most = static_cast<T>(high);
  for (int64_t i = 0; i < n; ++i) {
    const T raised = e[i] < least ? least : e[i];
    e[i] = raised > most ? most : raised;
  }
}

template <typename T>
double SumOfSquares(const void* x, int64_t n) {
  const T* e = static_cast<const T*>(x);
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) {
      const double v = e[i + l];
      lanes[l] += v * v;
    }
  }
  for (int l = 0; i < n; ++i, ++l) {
    const double v = e[i];
    lanes[l] += v * v;
  }
  double sum = 0;
  for (double lane : lanes) { sum += lane; }
  return sum;
}

template <typename T>
constexpr UpdateLoopsOf LoopsOf() {
  return {{&Sgd<T>, &Momentum<T>, &Adam<T>, &Adagrad<T>, &Adadelta<T>, &Rmsprop<T>, &LambMoments<T>,
           &LambParam<T>},
          &LambNorms<T>,
          &Scale<T>,
          &Clamp<T>,
          &SumOfSquares<T>};
}

constexpr UpdateLoops kLoops = {LoopsOf<float>(), LoopsOf<double>()};

}  // namespace

const UpdateLoops& GetUpdateLoops() { return kLoops; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
