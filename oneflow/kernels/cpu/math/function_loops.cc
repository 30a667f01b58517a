// The loops of ONEFLOW_FUNCTIONS. Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/math/functions.h"
#include "oneflow/kernels/cpu/math/loops.h"

extern "C" {
double lgamma_r(double, int*);
}

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

#define ONEFLOW_FORMULA(id, formula)                 \
  struct id##Formula {                               \
    template <typename T>                            \
    static ONEFLOW_INLINE T Apply(T x, Numbers<T>) { \
      return formula;                                \
    }                                                \
  };

ONEFLOW_FORMULA(Acos, Acos(x))
ONEFLOW_FORMULA(Acosh, Acosh(x))
ONEFLOW_FORMULA(Asin, Asin(x))
ONEFLOW_FORMULA(Asinh, Asinh(x))
ONEFLOW_FORMULA(Atan, Atan(x))
ONEFLOW_FORMULA(Atanh, Atanh(x))
ONEFLOW_FORMULA(Ceil, Ceil(x))
ONEFLOW_FORMULA(Cosh, Cosh(x))
ONEFLOW_FORMULA(Erf, Erf(x))
ONEFLOW_FORMULA(Erfc, Erfc(x))
ONEFLOW_FORMULA(Erfinv, Erfinv(x))
ONEFLOW_FORMULA(Exp, Exp(x))
ONEFLOW_FORMULA(Exp2, Exp2(x))
ONEFLOW_FORMULA(Expm1, Expm1(x))
ONEFLOW_FORMULA(Floor, Floor(x))
ONEFLOW_FORMULA(Frac, x - Trunc(x))
ONEFLOW_FORMULA(Log, Log(x))
ONEFLOW_FORMULA(Log10, Log10(x))
ONEFLOW_FORMULA(Log1p, Log1p(x))
ONEFLOW_FORMULA(Log2, Log2(x))
ONEFLOW_FORMULA(Reciprocal, T(1) / x)
ONEFLOW_FORMULA(ReciprocalNoNan, x == T(0) ? T(0) : T(1) / x)
ONEFLOW_FORMULA(Round, Rint(x))
ONEFLOW_FORMULA(Rsqrt, T(1) / Sqrt(x))
ONEFLOW_FORMULA(Sinh, Sinh(x))
ONEFLOW_FORMULA(Sqrt, Sqrt(x))
ONEFLOW_FORMULA(Tanh, Tanh(x))
ONEFLOW_FORMULA(Trunc, Trunc(x))

// In double: Stirling's series from 8 on, below it by recurrence, below 1/2 by reflection
// (Abramowitz and Stegun, 6.1.40, 6.1.15, 6.1.17).
ONEFLOW_INLINE float Lgamma(float v) {
  const double x = v;
  const double a = x < 0.5 ? 1.0 - x : x;
  const bool large = a >= 8.0;
  const double low = large ? 1.0 : a;
  const double product = low * (low + 1.0) * (low + 2.0) * (low + 3.0) * (low + 4.0) * (low + 5.0) *
                         (low + 6.0) * (low + 7.0);
  const double z = large ? a : a + 8.0;
  const double w = 1.0 / z;
  const double w2 = w * w;
  double series = 1.0 / 156;
  series = Fma(series, w2, -691.0 / 360360);
  series = Fma(series, w2, 1.0 / 1188);
  series = Fma(series, w2, -1.0 / 1680);
  series = Fma(series, w2, 1.0 / 1260);
  series = Fma(series, w2, -1.0 / 360);
  series = Fma(series, w2, 1.0 / 12);
  const double stirling = (z - 0.5) * Log(z) - z + 0.9189385332046727 + series * w;
  const double right = stirling - Log(large ? 1.0 : product);
  const double sine = Abs(Sin(kPi * (x - Rint(x))));
  double y = x < 0.5 ? Log(kPi / sine) - right : right;
  y = x == 1.0 || x == 2.0 ? 0.0 : y;
  return static_cast<float>(Abs(x) > Format<float>::kMax ? kInf<double> : y);
}

struct LgammaFormula {
  static ONEFLOW_INLINE float Apply(float x, Numbers<float>) { return Lgamma(x); }
  static double Apply(double x, Numbers<double>) {
    int sign;
    return lgamma_r(x, &sign);
  }
};

// By recurrence up to where the asymptotic series serves (Abramowitz and Stegun, 6.3.18 and 6.3.6),
// by reflection below zero (6.3.7).
double Digamma(double x) {
  if (x == 0.0) { return CopySign(kInf<double>, -x); }
  if (x < 0.0) {
    if (Floor(x) == x) { return kNan<double>; }
    const double rest = x - Trunc(x);
    return Digamma(1.0 - x) - kPi / __builtin_tan(kPi * rest);
  }
  double sum = 0.0;
  for (; x < 10.0; x += 1.0) { sum -= 1.0 / x; }
  const double z = 1.0 / (x * x);
  const double series =
      z * (1.0 / 12 - z * (1.0 / 120 -
                           z * (1.0 / 252 -
                                z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z / 12))))));
  return x > 1e17 ? __builtin_log(x) : sum + __builtin_log(x) - 0.5 / x - series;
}

ONEFLOW_FORMULA(Digamma, static_cast<T>(Digamma(x)))

// sin, cos, tan: blocks that hold an angle too large for the reduction go to C's library.
struct SinFormula {
  template <typename T>
  static ONEFLOW_INLINE T Apply(T x) {
    return Sin(x);
  }
  static float Library(float x) { return __builtin_sinf(x); }
  static double Library(double x) { return __builtin_sin(x); }
};
struct CosFormula {
  template <typename T>
  static ONEFLOW_INLINE T Apply(T x) {
    return Cos(x);
  }
  static float Library(float x) { return __builtin_cosf(x); }
  static double Library(double x) { return __builtin_cos(x); }
};
struct TanFormula {
  template <typename T>
  static ONEFLOW_INLINE T Apply(T x) {
    return Tan(x);
  }
  static float Library(float x) { return __builtin_tanf(x); }
  static double Library(double x) { return __builtin_tan(x); }
};

template <typename T>
bool AnyLarge(const T* x, int64_t n) {
  IntOf<T> large = 0;
  for (int64_t i = 0; i < n; ++i) { large |= Abs(x[i]) > kMaxAngle<T> ? 1 : 0; }
  return large != 0;
}

template <typename Op, typename T>
void CircularLoop(void* out, const void* x, const void*, const void*, int64_t n, const MathAttrs&) {
  constexpr int64_t kBlock = 512;
  const T* a = static_cast<const T*>(x);
  T* o = static_cast<T*>(out);
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t end = n - at < kBlock ? n : at + kBlock;
    if (__builtin_expect(AnyLarge(a + at, end - at), 0)) {
      for (int64_t i = at; i < end; ++i) { o[i] = Op::Library(a[i]); }
      continue;
    }
#pragma GCC ivdep
    for (int64_t i = at; i < end; ++i) { o[i] = Op::Apply(a[i]); }
  }
}

template <typename Op>
constexpr void FillCircular(MathTable* table, MathOp op) {
  table->at[At(op)][At(DataType::kFloat)] = &CircularLoop<Op, float>;
  table->at[At(op)][At(DataType::kDouble)] = &CircularLoop<Op, double>;
}

constexpr MathTable MakeTable() {
  MathTable t = {};
#define ONEFLOW_FILL(id) FillFloats<1, id##Formula>(&t, MathOp::k##id)
  ONEFLOW_FILL(Acos);
  ONEFLOW_FILL(Acosh);
  ONEFLOW_FILL(Asin);
  ONEFLOW_FILL(Asinh);
  ONEFLOW_FILL(Atan);
  ONEFLOW_FILL(Atanh);
  ONEFLOW_FILL(Ceil);
  ONEFLOW_FILL(Cosh);
  ONEFLOW_FILL(Digamma);
  ONEFLOW_FILL(Erf);
  ONEFLOW_FILL(Erfc);
  ONEFLOW_FILL(Erfinv);
  ONEFLOW_FILL(Exp);
  ONEFLOW_FILL(Exp2);
  ONEFLOW_FILL(Expm1);
  ONEFLOW_FILL(Floor);
  ONEFLOW_FILL(Frac);
  ONEFLOW_FILL(Lgamma);
  ONEFLOW_FILL(Log);
  ONEFLOW_FILL(Log10);
  ONEFLOW_FILL(Log1p);
  ONEFLOW_FILL(Log2);
  ONEFLOW_FILL(Reciprocal);
  ONEFLOW_FILL(ReciprocalNoNan);
  ONEFLOW_FILL(Round);
  ONEFLOW_FILL(Rsqrt);
  ONEFLOW_FILL(Sinh);
  ONEFLOW_FILL(Sqrt);
  ONEFLOW_FILL(Tanh);
  ONEFLOW_FILL(Trunc);
#undef ONEFLOW_FILL
#define ONEFLOW_STREAM(id) FillStreams<1, id##Formula>(&t, MathOp::k##id)
  ONEFLOW_STREAM(Ceil);
  ONEFLOW_STREAM(Exp);
  ONEFLOW_STREAM(Floor);
  ONEFLOW_STREAM(Log);
  ONEFLOW_STREAM(Reciprocal);
  ONEFLOW_STREAM(Round);
  ONEFLOW_STREAM(Rsqrt);
  ONEFLOW_STREAM(Sqrt);
  ONEFLOW_STREAM(Trunc);
#undef ONEFLOW_STREAM
  FillCircular<CosFormula>(&t, MathOp::kCos);
  FillCircular<SinFormula>(&t, MathOp::kSin);
  FillCircular<TanFormula>(&t, MathOp::kTan);
  return t;
}

constexpr MathTable kTable = MakeTable();

}  // namespace

const MathTable& GetFunctionLoops() { return kTable; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
