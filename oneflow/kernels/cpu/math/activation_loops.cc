// The loops of ONEFLOW_ACTIVATIONS. Compiled once for each instruction set: see isa.h.
// Of a gradient the first operand is that of the result, the second the activation's operand (of
// sigmoid and tanh: its result).
#include "oneflow/kernels/cpu/math/functions.h"
#include "oneflow/kernels/cpu/math/loops.h"

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

// m: the numbers of the op.
#define ONEFLOW_FORMULA(id, formula)                   \
  struct id##Formula {                                 \
    template <typename T>                              \
    static ONEFLOW_INLINE T Apply(T x, Numbers<T> m) { \
      return formula;                                  \
    }                                                  \
  };
#define ONEFLOW_GRADIENT(id, formula)                       \
  struct id##BackwardFormula {                              \
    template <typename T>                                   \
    static ONEFLOW_INLINE T Apply(T g, T x, Numbers<T> m) { \
      return formula;                                       \
    }                                                       \
  };

template <typename T>
ONEFLOW_INLINE T Sigmoid(T x) {
  return T(1) / (T(1) + ExpBesideOne(-x));
}
template <typename T>
constexpr T kSqrtHalf = static_cast<T>(0.7071067811865476);
// The standard normal distribution function, and its density.
template <typename T>
ONEFLOW_INLINE T Normal(T x) {
  return Fma(T(0.5), ErfBesideOne(x * kSqrtHalf<T>), T(0.5));
}
template <typename T>
ONEFLOW_INLINE T Density(T x) {
  return static_cast<T>(0.3989422804014327) * Exp(T(-0.5) * x * x);
}
// tanh(log(1 + e^x)).
template <typename T>
ONEFLOW_INLINE T TanhSoftplus(T x) {
  const T e = Exp(x > T(22) ? T(22) : x);
  const T n = e * (e + T(2));
  return n / (n + T(2));
}

// Hendrycks and Gimpel, "Gaussian error linear units", 2016: the form with tanh.
template <typename T>
constexpr T kGeluScale = static_cast<T>(0.7978845608028654);
template <typename T>
constexpr T kGeluCube = static_cast<T>(0.044715);
template <typename T>
ONEFLOW_INLINE T GeluInner(T x) {
  return kGeluScale<T> * x * (T(1) + kGeluCube<T> * x * x);
}
// (1 + tanh(u)) / 2.
template <typename T>
ONEFLOW_INLINE T GeluGate(T x) {
  return Sigmoid(T(2) * GeluInner(x));
}
template <typename T>
ONEFLOW_INLINE T GeluTanhSlope(T x) {
  x = Clamp(x, T(-30), T(30));  // where it is 0 and 1; beyond, the square may overflow
  const T gate = GeluGate(x);
  const T inner = T(2) * kGeluScale<T> * (T(1) + T(3) * kGeluCube<T> * x * x);
  return gate + x * gate * (T(1) - gate) * inner;
}
template <typename T>
ONEFLOW_INLINE T SiluSlope(T x) {
  const T s = Sigmoid(x);
  return s * (T(1) + x * (T(1) - s));
}
template <typename T>
ONEFLOW_INLINE T QuickGeluSlope(T x) {
  x = Clamp(x, T(-1000), T(1000));  // where it is 0 and 1
  const T s = Sigmoid(T(1.702) * x);
  return s * (T(1) + T(1.702) * x * (T(1) - s));
}
template <typename T>
ONEFLOW_INLINE T MishSlope(T x) {
  const T t = TanhSoftplus(x);
  return t + x * Sigmoid(x) * (T(1) - t * t);
}
// min(max(x + 3, 0), 6).
template <typename T>
ONEFLOW_INLINE T UpToSix(T x) {
  return Clamp(x + T(3), T(0), T(6));
}
template <typename T>
ONEFLOW_INLINE T SoftplusOf(T x, Numbers<T> m) {
  const T scaled = x * m.a;
  return scaled > m.b ? x : Softplus(scaled) / m.a;
}

ONEFLOW_FORMULA(Elu, x > T(0) ? x * m.b : Expm1(x * m.c) * m.a)
ONEFLOW_FORMULA(Gelu, x* Normal(x))
ONEFLOW_FORMULA(GeluTanh, x* GeluGate(x))
ONEFLOW_FORMULA(Hardshrink, x >= -m.a && x <= m.a ? T(0) : x)
ONEFLOW_FORMULA(Hardsigmoid, UpToSix(x) / T(6))
ONEFLOW_FORMULA(Hardswish, x*(UpToSix(x) / T(6)))
ONEFLOW_FORMULA(Hardtanh, Clamp(x, m.a, m.b))
ONEFLOW_FORMULA(LeakyRelu, x > T(0) ? x : x * m.a)
ONEFLOW_FORMULA(Logsigmoid, -Softplus(-x))
ONEFLOW_FORMULA(Mish, x* TanhSoftplus(x))
ONEFLOW_FORMULA(QuickGelu, x* Sigmoid(T(1.702) * x))
ONEFLOW_FORMULA(Sigmoid, Sigmoid(x))
ONEFLOW_FORMULA(Silu, x / (T(1) + ExpBesideOne(-x)))
ONEFLOW_FORMULA(Softplus, SoftplusOf(x, m))
ONEFLOW_FORMULA(Softshrink, x > m.a ? x - m.a : (x < -m.a ? x + m.a : x * T(0)))
ONEFLOW_FORMULA(Softsign, x / (T(1) + Abs(x)))
ONEFLOW_FORMULA(SquareRelu, x <= T(0) ? T(0) : x * x)
ONEFLOW_FORMULA(Threshold, x <= m.a ? m.b : x)

ONEFLOW_GRADIENT(Elu, x > T(0) ? g * m.b : g * m.a * m.c * Exp(x * m.c))
ONEFLOW_GRADIENT(Gelu, g* Fma(x, Density(x), Normal(x)))
ONEFLOW_GRADIENT(GeluTanh, g* GeluTanhSlope(x))
ONEFLOW_GRADIENT(Hardshrink, x >= -m.a && x <= m.a ? T(0) : g)
ONEFLOW_GRADIENT(Hardsigmoid, x > T(-3) && x < T(3) ? g / T(6) : T(0))
ONEFLOW_GRADIENT(Hardswish, x <= T(-3) ? T(0) : (x < T(3) ? g * (x / T(3) + T(0.5)) : g))
ONEFLOW_GRADIENT(Hardtanh, x <= m.a || x >= m.b ? T(0) : g)
ONEFLOW_GRADIENT(Clamp, x >= m.a && x <= m.b ? g : T(0))
ONEFLOW_GRADIENT(LeakyRelu, x > T(0) ? g : g * m.a)
ONEFLOW_GRADIENT(Logsigmoid, g / (T(1) + ExpBesideOne(x)))
ONEFLOW_GRADIENT(Mish, g* MishSlope(x))
ONEFLOW_GRADIENT(QuickGelu, g* QuickGeluSlope(x))
ONEFLOW_GRADIENT(Sigmoid, g*(T(1) - x) * x)
ONEFLOW_GRADIENT(Silu, g* SiluSlope(x))
ONEFLOW_GRADIENT(Softplus, x* m.a > m.b ? g : g * Sigmoid(x * m.a))
ONEFLOW_GRADIENT(Softsign, g / ((T(1) + Abs(x)) * (T(1) + Abs(x))))
ONEFLOW_GRADIENT(Tanh, g*(T(1) - x * x))
ONEFLOW_GRADIENT(Threshold, x <= m.a ? T(0) : g)

// The gradient of max(x, y) for x: half of it where both are equal.
struct MaximumBackwardFormula {
  template <typename T>
  static ONEFLOW_INLINE T Apply(T g, T x, T y, Numbers<T>) {
    return x < y ? T(0) : (x == y ? g * T(0.5) : g);
  }
};

// The second operand is the weight.
struct PreluFormula {
  template <typename T>
  static ONEFLOW_INLINE T Apply(T x, T w, Numbers<T>) {
    return x > T(0) ? x : x * w;
  }
};
struct PreluInputBackwardFormula {
  template <typename T>
  static ONEFLOW_INLINE T Apply(T g, T x, T w, Numbers<T>) {
    return x > T(0) ? g : g * w;
  }
};
struct PreluWeightBackwardFormula {
  template <typename T>
  static ONEFLOW_INLINE T Apply(T g, T x, Numbers<T>) {
    return x > T(0) ? T(0) : g * x;
  }
};

// zeta(s, x), the sum of (x + k) ** -s, s an integer from 2 on: the first terms, then Euler and
// Maclaurin's formula (Abramowitz and Stegun, 23.1.30).
double HurwitzZeta(double s, double x) {
  if (x == kInf<double>) { return 0.0; }
  if (!(x > -1e6)) { return kNan<double>; }
  if (x <= 0.0 && Floor(x) == x) { return kInf<double>; }
  double sum = 0.0;
  for (; x < 12.0; x += 1.0) { sum += __builtin_pow(x, -s); }
  constexpr double kBernoulli[] = {1.0 / 12,       -1.0 / 720,     1.0 / 30240,
                                   -1.0 / 1209600, 1.0 / 47900160, -691.0 / 1307674368000.0};
  double power = __builtin_pow(x, -s);
  sum += power * (x / (s - 1.0) + 0.5);
  double factor = s;
  power /= x;
  for (int k = 0; k < 6; ++k) {
    sum += kBernoulli[k] * factor * power;
    factor *= (s + 2 * k + 1) * (s + 2 * k + 2);
    power /= x * x;
  }
  return sum;
}
// m.a is the order n: (-1)^(n + 1) n! zeta(n + 1, x).
struct PolygammaFormula {
  template <typename T>
  static T Apply(T x, Numbers<T> m) {
    const double n = static_cast<double>(m.a);
    const bool odd = n - 2.0 * Floor(n / 2.0) == 1.0;
    double factorial = odd ? 1.0 : -1.0;
    // 171! is beyond double.
    for (double i = 2.0; i <= n && i <= 171.0; i += 1.0) { factorial *= i; }
    return static_cast<T>(factorial * HurwitzZeta(n + 1.0, x));
  }
};

constexpr MathTable MakeTable() {
  MathTable t = {};
#define ONEFLOW_FILL(id) FillFloats<1, id##Formula>(&t, MathOp::k##id)
  ONEFLOW_FILL(Elu);
  ONEFLOW_FILL(Gelu);
  ONEFLOW_FILL(GeluTanh);
  ONEFLOW_FILL(Hardshrink);
  ONEFLOW_FILL(Hardsigmoid);
  ONEFLOW_FILL(Hardswish);
  ONEFLOW_FILL(Hardtanh);
  ONEFLOW_FILL(LeakyRelu);
  ONEFLOW_FILL(Logsigmoid);
  ONEFLOW_FILL(Mish);
  ONEFLOW_FILL(QuickGelu);
  ONEFLOW_FILL(Sigmoid);
  ONEFLOW_FILL(Silu);
  ONEFLOW_FILL(Softplus);
  ONEFLOW_FILL(Softshrink);
  ONEFLOW_FILL(Softsign);
  ONEFLOW_FILL(SquareRelu);
  ONEFLOW_FILL(Threshold);
#undef ONEFLOW_FILL
#define ONEFLOW_FILL(id) FillFloats<2, id##BackwardFormula>(&t, MathOp::k##id##Backward)
  ONEFLOW_FILL(Elu);
  ONEFLOW_FILL(Gelu);
  ONEFLOW_FILL(GeluTanh);
  ONEFLOW_FILL(Hardshrink);
  ONEFLOW_FILL(Hardsigmoid);
  ONEFLOW_FILL(Hardswish);
  ONEFLOW_FILL(Hardtanh);
  ONEFLOW_FILL(Clamp);
  ONEFLOW_FILL(LeakyRelu);
  ONEFLOW_FILL(Logsigmoid);
  ONEFLOW_FILL(Mish);
  ONEFLOW_FILL(QuickGelu);
  ONEFLOW_FILL(Sigmoid);
  ONEFLOW_FILL(Silu);
  ONEFLOW_FILL(Softplus);
  ONEFLOW_FILL(Softsign);
  ONEFLOW_FILL(Tanh);
  ONEFLOW_FILL(Threshold);
#undef ONEFLOW_FILL
  FillStreams<1, HardsigmoidFormula>(&t, MathOp::kHardsigmoid);
  FillStreams<1, HardswishFormula>(&t, MathOp::kHardswish);
  FillStreams<1, HardtanhFormula>(&t, MathOp::kHardtanh);
  FillStreams<1, LeakyReluFormula>(&t, MathOp::kLeakyRelu);
  FillStreams<1, SigmoidFormula>(&t, MathOp::kSigmoid);
  FillStreams<1, SiluFormula>(&t, MathOp::kSilu);
  FillFloats<1, PolygammaFormula>(&t, MathOp::kPolygamma);
  FillFloats<2, PreluFormula>(&t, MathOp::kPrelu);
  FillFloats<3, PreluInputBackwardFormula>(&t, MathOp::kPreluInputBackward);
  FillFloats<2, PreluWeightBackwardFormula>(&t, MathOp::kPreluWeightBackward);
  FillFloats<3, MaximumBackwardFormula>(&t, MathOp::kMaximumBackward);
  return t;
}

constexpr MathTable kTable = MakeTable();

}  // namespace

const MathTable& GetActivationLoops() { return kTable; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
