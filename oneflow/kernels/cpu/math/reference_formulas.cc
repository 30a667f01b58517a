#include <algorithm>
#include <cmath>

#include "oneflow/kernels/cpu/math/reference.h"

namespace oneflow {
namespace cpu {

namespace {

using X = const double*;
using N = const int64_t*;
using M = const MathAttrs&;

double Sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
double Normal(double x) { return 0.5 * (1.0 + std::erf(x / std::sqrt(2.0))); }
double Density(double x) { return std::exp(-0.5 * x * x) / std::sqrt(2.0 * M_PI); }
double TanhSoftplus(double x) { return std::tanh(x > 30.0 ? x : std::log1p(std::exp(x))); }
double Inner(double x) { return std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x); }
double Cut(double x) { return std::isnan(x) ? x : std::min(std::max(x, 0.0), 6.0); }
double Within(double x, double limit) {
  return std::isnan(x) ? x : std::min(std::max(x, -limit), limit);
}
double FastGeluSlope(double x) {
  const double gate = Sigmoid(2.0 * Inner(x));
  const double inner = 2.0 * std::sqrt(2.0 / M_PI) * (1.0 + 0.134145 * x * x);
  return gate + x * gate * (1.0 - gate) * inner;
}
double QuickGeluSlope(double x) {
  const double gate = Sigmoid(1.702 * x);
  return gate * (1.0 + 1.702 * x * (1.0 - gate));
}
double Larger(double x, double y) { return std::isnan(x) || x > y ? x : y; }
double Smaller(double x, double y) { return std::isnan(x) || x < y ? x : y; }

// Newton's method on erf, erfc near 1.
double Erfinv(double x) {
  if (std::fabs(x) >= 1.0 || std::isnan(x)) {
    return std::fabs(x) == 1.0 ? std::copysign(INFINITY, x) : NAN;
  }
  const double a = std::fabs(x);
  double y = std::sqrt(-std::log((1.0 - a) * (1.0 + a))) * 0.88;
  for (int i = 0; i < 60; ++i) {
    const double error = a > 0.5 ? (1.0 - a) - std::erfc(y) : std::erf(y) - a;
    const double step = error / (2.0 / std::sqrt(M_PI) * std::exp(-y * y));
    y -= step / (1.0 + y * step);
    if (std::fabs(step) < 1e-16 * y) { break; }
  }
  return std::copysign(y, x);
}

// The derivative of lgamma by the series of the recurrence, far out.
double Digamma(double x) {
  if (x <= 0.0 && std::floor(x) == x) { return x == 0.0 ? std::copysign(INFINITY, -x) : NAN; }
  if (x < 0.0) { return Digamma(1.0 - x) - M_PI / std::tan(M_PI * (x - std::trunc(x))); }
  double sum = 0.0;
  while (x < 40.0) { sum -= 1.0 / x++; }
  const double z = 1.0 / (x * x);
  return sum + std::log(x) - 0.5 / x - z * (1.0 / 12 - z * (1.0 / 120 - z / 252));
}
// n! times the sum of (x + k) ** -(n + 1), and the integral of what follows the first terms.
double Polygamma(double n, double x) {
  if (x <= 0.0 && std::floor(x) == x) { return std::fmod(n, 2.0) == 1.0 ? INFINITY : -INFINITY; }
  if (std::isinf(x)) { return x > 0.0 ? 0.0 : NAN; }
  double sum = 0.0;
  for (; x < 300.0; ++x) { sum += std::pow(x, -n - 1.0); }
  sum += std::pow(x, -n) / n + 0.5 * std::pow(x, -n - 1.0) + (n + 1.0) / 12 * std::pow(x, -n - 2.0);
  return (std::fmod(n, 2.0) == 1.0 ? 1.0 : -1.0) * std::tgamma(n + 1.0) * sum;
}

double FloorDivide(double x, double y) {
  if (y == 0.0) { return x / y; }
  double rest = std::fmod(x, y);
  double quotient = (x - rest) / y;
  if (rest != 0.0 && (rest < 0.0) != (y < 0.0)) { quotient -= 1.0; }
  if (quotient == 0.0) { return std::copysign(0.0, x / y); }
  const double floor = std::floor(quotient);
  return quotient - floor > 0.5 ? floor + 1.0 : floor;
}
double Remainder(double x, double y) {
  const double rest = std::fmod(x, y);
  return rest != 0.0 && (rest < 0.0) != (y < 0.0) ? rest + y : rest;
}
double Logaddexp(double x, double y) {
  if (x == y && std::isinf(x)) { return x; }
  return Larger(x, y) + std::log1p(std::exp(-std::fabs(x - y)));
}

struct Real {
  MathOp op;
  RealFn formula;
};
#define ONEFLOW_REAL(id, formula) \
  {MathOp::k##id, [](X x, [[maybe_unused]] M m) -> double { return formula; }}

constexpr Real kReal[] = {
    ONEFLOW_REAL(Acos, std::acos(x[0])),
    ONEFLOW_REAL(Acosh, std::acosh(x[0])),
    ONEFLOW_REAL(Asin, std::asin(x[0])),
    ONEFLOW_REAL(Asinh, std::asinh(x[0])),
    ONEFLOW_REAL(Atan, std::atan(x[0])),
    ONEFLOW_REAL(Atanh, std::atanh(x[0])),
    ONEFLOW_REAL(Ceil, std::ceil(x[0])),
    ONEFLOW_REAL(Cos, std::cos(x[0])),
    ONEFLOW_REAL(Cosh, std::cosh(x[0])),
    ONEFLOW_REAL(Digamma, Digamma(x[0])),
    ONEFLOW_REAL(Erf, std::erf(x[0])),
    ONEFLOW_REAL(Erfc, std::erfc(x[0])),
    ONEFLOW_REAL(Erfinv, Erfinv(x[0])),
    ONEFLOW_REAL(Exp, std::exp(x[0])),
    ONEFLOW_REAL(Exp2, std::exp2(x[0])),
    ONEFLOW_REAL(Expm1, std::expm1(x[0])),
    ONEFLOW_REAL(Floor, std::floor(x[0])),
    ONEFLOW_REAL(Frac, x[0] - std::trunc(x[0])),
    ONEFLOW_REAL(Lgamma, std::lgamma(x[0])),
    ONEFLOW_REAL(Log, std::log(x[0])),
    ONEFLOW_REAL(Log10, std::log10(x[0])),
    ONEFLOW_REAL(Log1p, std::log1p(x[0])),
    ONEFLOW_REAL(Log2, std::log2(x[0])),
    ONEFLOW_REAL(Reciprocal, 1.0 / x[0]),
    ONEFLOW_REAL(ReciprocalNoNan, x[0] == 0.0 ? 0.0 : 1.0 / x[0]),
    ONEFLOW_REAL(Round, std::nearbyint(x[0])),
    ONEFLOW_REAL(Rsqrt, 1.0 / std::sqrt(x[0])),
    ONEFLOW_REAL(Sin, std::sin(x[0])),
    ONEFLOW_REAL(Sinh, std::sinh(x[0])),
    ONEFLOW_REAL(Sqrt, std::sqrt(x[0])),
    ONEFLOW_REAL(Tan, std::tan(x[0])),
    ONEFLOW_REAL(Tanh, std::tanh(x[0])),
    ONEFLOW_REAL(Trunc, std::trunc(x[0])),
    ONEFLOW_REAL(Elu, x[0] > 0.0 ? x[0] * m.b : std::expm1(x[0] * m.c) * m.a),
    ONEFLOW_REAL(Gelu, x[0] * Normal(x[0])),
    ONEFLOW_REAL(GeluTanh, x[0] / (1.0 + std::exp(-2.0 * Inner(x[0])))),
    ONEFLOW_REAL(Hardshrink, std::fabs(x[0]) <= m.a ? 0.0 : x[0]),
    ONEFLOW_REAL(Hardsigmoid, Cut(x[0] + 3.0) / 6.0),
    ONEFLOW_REAL(Hardswish, x[0] * Cut(x[0] + 3.0) / 6.0),
    ONEFLOW_REAL(Hardtanh, x[0]<m.a ? m.a : x[0]> m.b ? m.b : x[0]),
    ONEFLOW_REAL(LeakyRelu, x[0] > 0.0 ? x[0] : x[0] * m.a),
    ONEFLOW_REAL(Logsigmoid, (x[0] < 0.0 ? x[0] : 0.0) - std::log1p(std::exp(-std::fabs(x[0])))),
    ONEFLOW_REAL(Mish, x[0] * TanhSoftplus(x[0])),
    ONEFLOW_REAL(Polygamma, Polygamma(m.a, x[0])),
    ONEFLOW_REAL(Prelu, x[0] > 0.0 ? x[0] : x[0] * x[1]),
    ONEFLOW_REAL(PreluInputBackward, x[1] > 0.0 ? x[0] : x[0] * x[2]),
    ONEFLOW_REAL(PreluWeightBackward, x[1] > 0.0 ? 0.0 : x[0] * x[1]),
    ONEFLOW_REAL(QuickGelu, x[0] * Sigmoid(1.702 * x[0])),
    ONEFLOW_REAL(Sigmoid, Sigmoid(x[0])),
    ONEFLOW_REAL(Silu, x[0] / (1.0 + std::exp(-x[0]))),
    ONEFLOW_REAL(Softplus, x[0] * m.a > m.b ? x[0] : std::log1p(std::exp(x[0] * m.a)) / m.a),
    ONEFLOW_REAL(Softshrink, x[0] > m.a    ? x[0] - m.a
                             : x[0] < -m.a ? x[0] + m.a
                                           : x[0] * 0.0),
    ONEFLOW_REAL(Softsign, x[0] / (1.0 + std::fabs(x[0]))),
    ONEFLOW_REAL(SquareRelu, x[0] <= 0.0 ? 0.0 : x[0] * x[0]),
    ONEFLOW_REAL(Threshold, x[0] <= m.a ? m.b : x[0]),
    ONEFLOW_REAL(EluBackward, x[1] > 0.0 ? x[0] * m.b : x[0] * m.a * m.c * std::exp(x[1] * m.c)),
    ONEFLOW_REAL(GeluBackward, x[0] * (Normal(x[1]) + x[1] * Density(x[1]))),
    ONEFLOW_REAL(GeluTanhBackward, x[0] * FastGeluSlope(Within(x[1], 30.0))),
    ONEFLOW_REAL(HardshrinkBackward, std::fabs(x[1]) <= m.a ? 0.0 : x[0]),
    ONEFLOW_REAL(HardsigmoidBackward, std::fabs(x[1]) < 3.0 ? x[0] / 6.0 : 0.0),
    ONEFLOW_REAL(HardswishBackward,
                 x[1] <= -3.0 ? 0.0
                 : x[1] < 3.0 ? x[0] * (x[1] / 3.0 + 0.5)
                              : x[0]),
    ONEFLOW_REAL(HardtanhBackward, x[1] <= m.a || x[1] >= m.b ? 0.0 : x[0]),
    ONEFLOW_REAL(ClampBackward, x[1] >= m.a && x[1] <= m.b ? x[0] : 0.0),
    ONEFLOW_REAL(LeakyReluBackward, x[1] > 0.0 ? x[0] : x[0] * m.a),
    ONEFLOW_REAL(LogsigmoidBackward, x[0] / (1.0 + std::exp(x[1]))),
    ONEFLOW_REAL(MishBackward,
                 x[0] * (TanhSoftplus(x[1]) +
                         x[1] * Sigmoid(x[1]) * (1.0 - TanhSoftplus(x[1]) * TanhSoftplus(x[1])))),
    ONEFLOW_REAL(QuickGeluBackward, x[0] * QuickGeluSlope(Within(x[1], 1000.0))),
    ONEFLOW_REAL(SigmoidBackward, x[0] * (1.0 - x[1]) * x[1]),
    ONEFLOW_REAL(SiluBackward, x[0] * Sigmoid(x[1]) * (1.0 + x[1] * (1.0 - Sigmoid(x[1])))),
    ONEFLOW_REAL(SoftplusBackward, x[1] * m.a > m.b ? x[0] : x[0] * Sigmoid(x[1] * m.a)),
    ONEFLOW_REAL(SoftsignBackward, x[0] / ((1.0 + std::fabs(x[1])) * (1.0 + std::fabs(x[1])))),
    ONEFLOW_REAL(TanhBackward, x[0] * (1.0 - x[1] * x[1])),
    ONEFLOW_REAL(ThresholdBackward, x[1] <= m.a ? 0.0 : x[0]),
    ONEFLOW_REAL(MaximumBackward, x[1] < x[2]    ? 0.0
                                  : x[1] == x[2] ? x[0] / 2.0
                                                 : x[0]),
    ONEFLOW_REAL(Abs, std::fabs(x[0])),
    ONEFLOW_REAL(Neg, -x[0]),
    ONEFLOW_REAL(Sign, (x[0] > 0.0) - (x[0] < 0.0)),
    ONEFLOW_REAL(Square, x[0] * x[0]),
    ONEFLOW_REAL(LogicalNot, x[0] == 0.0),
    ONEFLOW_REAL(IsNan, std::isnan(x[0])),
    ONEFLOW_REAL(IsInf, std::isinf(x[0])),
    ONEFLOW_REAL(IsFinite, std::isfinite(x[0])),
    ONEFLOW_REAL(Eq, x[0] == x[1]),
    ONEFLOW_REAL(Ne, x[0] != x[1]),
    ONEFLOW_REAL(Lt, x[0] < x[1]),
    ONEFLOW_REAL(Le, x[0] <= x[1]),
    ONEFLOW_REAL(Gt, x[0] > x[1]),
    ONEFLOW_REAL(Ge, x[0] >= x[1]),
    ONEFLOW_REAL(LogicalAnd, x[0] != 0.0 && x[1] != 0.0),
    ONEFLOW_REAL(LogicalOr, x[0] != 0.0 || x[1] != 0.0),
    ONEFLOW_REAL(LogicalXor, (x[0] != 0.0) != (x[1] != 0.0)),
    ONEFLOW_REAL(Maximum, Larger(x[0], x[1])),
    ONEFLOW_REAL(Minimum, Smaller(x[0], x[1])),
    ONEFLOW_REAL(Fmod, std::fmod(x[0], x[1])),
    ONEFLOW_REAL(Remainder, Remainder(x[0], x[1])),
    ONEFLOW_REAL(FloorDivide, FloorDivide(x[0], x[1])),
    ONEFLOW_REAL(TruncDivide, std::trunc(x[0] / x[1])),
    ONEFLOW_REAL(Pow, std::pow(x[0], x[1])),
    ONEFLOW_REAL(Atan2, std::atan2(x[0], x[1])),
    ONEFLOW_REAL(Logaddexp, Logaddexp(x[0], x[1])),
    ONEFLOW_REAL(Clamp, x[0]<x[1] ? x[1] : x[0]> x[2] ? x[2] : x[0]),
    ONEFLOW_REAL(Where, x[0] != 0.0 ? x[1] : x[2]),
    ONEFLOW_REAL(Add, x[0] + m.a * x[1]),
    ONEFLOW_REAL(Sub, x[0] - x[1]),
    ONEFLOW_REAL(Mul, x[0] * x[1]),
    ONEFLOW_REAL(Div, x[0] / x[1]),
    ONEFLOW_REAL(Relu, x[0] <= 0.0 ? 0.0 : x[0]),
    ONEFLOW_REAL(ReluBackward, x[1] > 0.0 ? x[0] : 0.0),
    ONEFLOW_REAL(Addcmul, x[0] + m.a * x[1] * x[2]),
    ONEFLOW_REAL(Addcdiv, x[0] + m.a * x[1] / x[2]),
    ONEFLOW_REAL(Lerp, std::fabs(x[2]) < 0.5 ? x[0] + x[2] * (x[1] - x[0])
                                             : x[1] - (x[1] - x[0]) * (1.0 - x[2])),
};

// ---- integers ----------------------------------------------------------------------------------

int64_t Wrap(uint64_t x) { return static_cast<int64_t>(x); }
uint64_t U(int64_t x) { return static_cast<uint64_t>(x); }

int64_t Divide(int64_t x, int64_t y) { return y == -1 ? Wrap(0 - U(x)) : x / y; }
int64_t Rest(int64_t x, int64_t y) { return y == -1 ? 0 : x % y; }
bool Adjusts(int64_t x, int64_t y) { return Rest(x, y) != 0 && (x < 0) != (y < 0); }

int64_t Power(int64_t x, int64_t y) {
  if (y < 0) { return x == 1 ? 1 : x == -1 ? (y % 2 == 0 ? 1 : -1) : 0; }
  uint64_t power = 1;
  for (; y > 0; --y) {
    if (power == 0 || x == 1) { break; }
    if (x == -1) { return y % 2 == 0 ? 1 : -1; }
    power *= U(x);
  }
  return Wrap(power);
}

// m.a is the width in bits.
int64_t ShiftLeft(int64_t x, int64_t y, M m) {
  return y < 0 || static_cast<double>(y) >= m.a ? 0 : Wrap(U(x) << y);
}
int64_t ShiftRight(int64_t x, int64_t y, M m) {
  return y < 0 || static_cast<double>(y) >= m.a ? (x < 0 ? -1 : 0) : x >> y;
}

struct Whole {
  MathOp op;
  WholeFn formula;
};
#define ONEFLOW_WHOLE(id, formula) \
  {MathOp::k##id, [](N x, [[maybe_unused]] M m) -> int64_t { return formula; }}

constexpr Whole kWhole[] = {
    ONEFLOW_WHOLE(Abs, x[0] < 0 ? Wrap(0 - U(x[0])) : x[0]),
    ONEFLOW_WHOLE(Neg, Wrap(0 - U(x[0]))),
    ONEFLOW_WHOLE(Sign, (x[0] > 0) - (x[0] < 0)),
    ONEFLOW_WHOLE(Square, Wrap(U(x[0]) * U(x[0]))),
    ONEFLOW_WHOLE(BitwiseNot, ~x[0]),
    ONEFLOW_WHOLE(LogicalNot, x[0] == 0),
    ONEFLOW_WHOLE(Sub, Wrap(U(x[0]) - U(x[1]))),
    ONEFLOW_WHOLE(Eq, x[0] == x[1]),
    ONEFLOW_WHOLE(Ne, x[0] != x[1]),
    ONEFLOW_WHOLE(Lt, x[0] < x[1]),
    ONEFLOW_WHOLE(Le, x[0] <= x[1]),
    ONEFLOW_WHOLE(Gt, x[0] > x[1]),
    ONEFLOW_WHOLE(Ge, x[0] >= x[1]),
    ONEFLOW_WHOLE(LogicalAnd, x[0] != 0 && x[1] != 0),
    ONEFLOW_WHOLE(LogicalOr, x[0] != 0 || x[1] != 0),
    ONEFLOW_WHOLE(LogicalXor, (x[0] != 0) != (x[1] != 0)),
    ONEFLOW_WHOLE(BitwiseAnd, x[0] & x[1]),
    ONEFLOW_WHOLE(BitwiseOr, x[0] | x[1]),
    ONEFLOW_WHOLE(BitwiseXor, x[0] ^ x[1]),
    ONEFLOW_WHOLE(ShiftLeft, ShiftLeft(x[0], x[1], m)),
    ONEFLOW_WHOLE(ShiftRight, ShiftRight(x[0], x[1], m)),
    ONEFLOW_WHOLE(Maximum, std::max(x[0], x[1])),
    ONEFLOW_WHOLE(Minimum, std::min(x[0], x[1])),
    ONEFLOW_WHOLE(Fmod, Rest(x[0], x[1])),
    ONEFLOW_WHOLE(Remainder, Rest(x[0], x[1]) + (Adjusts(x[0], x[1]) ? x[1] : 0)),
    ONEFLOW_WHOLE(FloorDivide, Divide(x[0], x[1]) - (Adjusts(x[0], x[1]) ? 1 : 0)),
    ONEFLOW_WHOLE(TruncDivide, Divide(x[0], x[1])),
    ONEFLOW_WHOLE(Pow, Power(x[0], x[1])),
    ONEFLOW_WHOLE(Clamp, std::min(std::max(x[0], x[1]), x[2])),
    ONEFLOW_WHOLE(Where, x[0] != 0 ? x[1] : x[2]),
    ONEFLOW_WHOLE(Addcmul, Wrap(U(x[0]) + U(static_cast<int64_t>(m.a)) * U(x[1]) * U(x[2]))),
};

}  // namespace

RealFn RealFormula(MathOp op) {
  for (const Real& real : kReal) {
    if (real.op == op) { return real.formula; }
  }
  return nullptr;
}

WholeFn WholeFormula(MathOp op) {
  for (const Whole& whole : kWhole) {
    if (whole.op == op) { return whole.formula; }
  }
  return nullptr;
}

}  // namespace cpu
}  // namespace oneflow
