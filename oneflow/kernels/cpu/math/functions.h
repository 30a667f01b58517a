// The elementary functions, for loops that the compiler turns into vectors.
//
// Greatest error in units in the last place, measured by functions_test (float / double):
//   exp exp2 expm1 log log2 log10 log1p  2 / 2    sin cos 1.5 / 1.5, tan 3 / 3
//   asin acos atan atan2 2.5 / 2.5       sinh cosh tanh asinh acosh atanh 4 / 4
//   erf 2 / 2, erfc 6 / 6, erfinv 5 / 5  pow 1 / 1.5, sigmoid 3 / 3
// Special values are those of C's math library. Methods: range reduction by powers of two, by
// multiples of pi / 2 (Cody and Waite, "Software manual for the elementary functions", 1980), and by
// the addition theorems; polynomials of coefficients.h.
//
// Included only by files that of_isa_kernels() compiles: everything is in an unnamed namespace.
// Thread safety: pure functions.
#ifndef ONEFLOW_KERNELS_CPU_MATH_FUNCTIONS_H_
#define ONEFLOW_KERNELS_CPU_MATH_FUNCTIONS_H_

#include "oneflow/kernels/cpu/math/coefficients.h"
#include "oneflow/kernels/cpu/math/number.h"

namespace oneflow {
namespace cpu {
namespace {

// ---- exponentials ----------------------------------------------------------------------------

template <typename T>
struct Ln2;
template <>
struct Ln2<float> {
  static constexpr float kHigh = 0x1.62e4p-1f;  // short: its multiples are exact
  static constexpr float kLow = 0x1.7f7d1cp-20f;
  static constexpr float kLeast = -104.0f;  // e^x = 0 from here
  static constexpr float kMost = 89.0f;     // and infinity
};
template <>
struct Ln2<double> {
  static constexpr double kHigh = 0x1.62e42feep-1;
  static constexpr double kLow = 0x1.a39ef35793c76p-33;
  static constexpr double kLeast = -746.0;
  static constexpr double kMost = 710.0;
};

template <typename T>
ONEFLOW_INLINE T Clamp(T x, T low, T high) {
  x = x < low ? low : x;
  return x > high ? high : x;
}

// e^r - 1 for |r| <= ln(2) / 2.
template <typename T>
ONEFLOW_INLINE T ExpRest(T r) {
  return Fma(r * r, Poly(r, Coefficients<T>::kExp), r);
}

// x = n ln 2 + r.
template <typename T>
ONEFLOW_INLINE T ExpReduce(T x, Rounded<T>* n) {
  *n = RoundSmall(x * static_cast<T>(1.4426950408889634));
  return Fma(-n->n, Ln2<T>::kLow, Fma(-n->n, Ln2<T>::kHigh, x));
}

// 2^shift e^x.
template <typename T>
ONEFLOW_INLINE T ExpScaled(T x, IntOf<T> shift) {
  Rounded<T> n;
  const T r = ExpReduce(Clamp(x, Ln2<T>::kLeast, Ln2<T>::kMost + 1), &n);
  return ScaleBy(ExpRest(r) + T(1), static_cast<IntOf<T>>(n.i + shift));
}
template <typename T>
ONEFLOW_INLINE T Exp(T x) {
  return ExpScaled(x, 0);
}

// e^x where e^x + 1 is what counts: below 2^-126 it is 0, and past 2^127.5 infinity.
template <typename T>
ONEFLOW_INLINE T ExpBesideOne(T x) {
  const T low = sizeof(T) == 4 ? T(-88) : T(-709);
  Rounded<T> n;
  const T r = ExpReduce(Clamp(x, low, Ln2<T>::kMost), &n);
  return (ExpRest(r) + T(1)) * Power2<T>(n.i);
}

template <typename T>
ONEFLOW_INLINE T Exp2(T x) {
  const T limit = static_cast<T>(Format<T>::kBias + 2);
  x = Clamp(x, -static_cast<T>(Format<T>::kBias + Format<T>::kMantissa + 2), limit);
  const Rounded<T> n = RoundSmall(x);
  const T f = x - n.n;
  const T high = f * static_cast<T>(0.6931471805599453);
  // The product's own error, and that of the constant.
  const T low = ProductError(f, static_cast<T>(0.6931471805599453), high) +
                f * (sizeof(T) == 4 ? T(-1.904654299957768e-09) : T(2.3190468138462996e-17));
  return ScaleBy((ExpRest(high) + low) + T(1), n.i);
}

// e^x - 1 = 2^n (e^r - 1) + (2^n - 1), the powers halved where 2^n would overflow.
template <typename T>
ONEFLOW_INLINE T Expm1(T x) {
  Rounded<T> n;
  const T low = sizeof(T) == 4 ? T(-20) : T(-40);
  const T r = ExpReduce(Clamp(x, low, Ln2<T>::kMost), &n);
  const T half = Power2<T>(static_cast<IntOf<T>>(n.i - 1));
  const T y = Fma(half, ExpRest(r), half - T(0.5)) * T(2);
  return Abs(x) < Format<T>::kMin ? x : y;  // also keeps the sign of zero
}

// ---- logarithms ------------------------------------------------------------------------------

// log(1 + f), 1 + f from sqrt(1/2) to sqrt(2), without the leading f.
ONEFLOW_INLINE float LogRest(float f) {
  const float z = f * f;
  return Fma(-0.5f, z, z * f * Poly(f, Coefficients<float>::kLog));
}
ONEFLOW_INLINE double LogRest(double f) {
  const double s = f / (2.0 + f);
  const double z = s * s;
  const double half = 0.5 * f * f;
  return -(half - s * (half + z * Poly(z, Coefficients<double>::kLog)));
}

// u = 2^e (1 + f).
template <typename T>
struct Split {
  T f;
  T e;
  T scale;  // 2^-e, or 0
};
template <typename T>
ONEFLOW_INLINE Split<T> SplitOf(T u) {
  using Int = IntOf<T>;
  const Int root = BitsAs<Int>(static_cast<T>(0.7071067811865476));
  const Int bits = BitsAs<Int>(u) - root;
  const Int e = bits >> Format<T>::kMantissa;
  const Int mask = (Int{1} << Format<T>::kMantissa) - 1;
  return {BitsAs<T>(static_cast<Int>((bits & mask) + root)) - T(1), static_cast<T>(e),
          T(0.5) * Power2<T>(static_cast<Int>(1 - e))};
}

// The special values of a logarithm of x: `y` elsewhere.
template <typename T>
ONEFLOW_INLINE T LogSpecial(T x, T y) {
  y = x > Format<T>::kMax ? x : y;
  y = x == T(0) ? -kInf<T> : y;
  return x >= T(0) ? y : kNan<T>;
}

// Subnormal numbers are scaled up first.
template <typename T>
ONEFLOW_INLINE Split<T> SplitAny(T x) {
  const T up = sizeof(T) == 4 ? T(0x1p25) : T(0x1p54);
  const T by = sizeof(T) == 4 ? T(25) : T(54);
  const bool tiny = x < Format<T>::kMin;
  Split<T> s = SplitOf(tiny ? x * up : x);
  s.e = tiny ? s.e - by : s.e;
  return s;
}

template <typename T>
ONEFLOW_INLINE T Log(T x) {
  const Split<T> s = SplitAny(x);
  const T y = Fma(s.e, Ln2<T>::kHigh, Fma(s.e, Ln2<T>::kLow, LogRest(s.f)) + s.f);
  return LogSpecial(x, y);
}

template <typename T>
ONEFLOW_INLINE T Log2(T x) {
  const Split<T> s = SplitAny(x);
  const T rest = LogRest(s.f);
  const T high = s.f * static_cast<T>(1.4426950408889634);
  const T low = ProductError(s.f, static_cast<T>(1.4426950408889634), high) +
                rest * static_cast<T>(1.4426950408889634) +
                s.f * (sizeof(T) == 4 ? T(1.9259629911266175e-08) : T(2.0355273740931033e-17));
  return LogSpecial(x, s.e + (high + low));
}

template <typename T>
ONEFLOW_INLINE T Log10(T x) {
  const Split<T> s = SplitAny(x);
  constexpr T kHigh = sizeof(T) == 4 ? T(0x1.344p-2) : T(0x1.34413509ep-2);
  constexpr T kLow = sizeof(T) == 4 ? T(0x1.3509f8p-18) : T(0x1.79fef311f12b3p-38);
  constexpr T kFactor = static_cast<T>(0.4342944819032518);
  const T rest = LogRest(s.f);
  const T high = s.f * kFactor;
  const T low = ProductError(s.f, kFactor, high) + rest * kFactor +
                s.f * (sizeof(T) == 4 ? T(-1.0103050052231683e-08) : T(1.098319650216765e-17));
  return LogSpecial(x, Fma(s.e, kHigh, Fma(s.e, kLow, low) + high));
}

// log(u + c), c small beside u.
template <typename T>
ONEFLOW_INLINE T LogOfSum(T u, T c) {
  Split<T> s = SplitOf(u);
  s.f = Fma(c, s.scale, s.f);
  return Fma(s.e, Ln2<T>::kHigh, Fma(s.e, Ln2<T>::kLow, LogRest(s.f)) + s.f);
}

template <typename T>
ONEFLOW_INLINE T Log1p(T x) {
  const T u = T(1) + x;
  // What was rounded away, whichever of the two is larger.
  const T c = x > T(1) ? T(1) - (u - x) : x - (u - T(1));
  T y = LogSpecial(u, LogOfSum(u, u > Format<T>::kMax ? T(0) : c));
  return Abs(x) < Format<T>::kMin ? x : y;
}

// log(1 + e) for e from 0 to 1.
template <typename T>
ONEFLOW_INLINE T Log1pUpToOne(T e) {
  const T u = T(1) + e;
  const T lost = e - (u - T(1));
  const bool high = u > static_cast<T>(1.4142135623730951);
  const T f = high ? Fma(T(0.5), u, T(-1)) + T(0.5) * lost : (u - T(1)) + lost;
  const T y = f + LogRest(f);
  return high ? static_cast<T>(0.6931471805599453) + y : y;
}
// log(1 + e^x).
template <typename T>
ONEFLOW_INLINE T Softplus(T x) {
  return (x > T(0) || x != x ? x : T(0)) + Log1pUpToOne(ExpBesideOne(-Abs(x)));
}

// ---- circular functions ----------------------------------------------------------------------

// Past these the reduction below is not exact enough: callers take C's library then.
template <typename T>
constexpr T kMaxAngle = sizeof(T) == 4 ? T(100000) : T(1000000);

// x = n pi / 2 + r, from the multiple's last bits its quadrant.
ONEFLOW_INLINE float ReduceAngle(float x, int32_t* quadrant) {
  const Rounded<float> n = RoundSmall(x * 0.63661977f);
  *quadrant = n.i;
  const double m = n.n;
  return static_cast<float>((static_cast<double>(x) - m * 0x1.921fb544p+0) -
                            m * 0x1.0b4611a626331p-34);
}
ONEFLOW_INLINE double ReduceAngle(double x, int64_t* quadrant) {
  const Rounded<double> n = RoundSmall(x * 0.6366197723675814);
  *quadrant = n.i;
  const double high = x - n.n * 0x1.921fb544p+0;
  return (high - n.n * 0x1.0b4611a6p-34) - n.n * 0x1.3198a2e037073p-69;
}

template <typename T>
ONEFLOW_INLINE T SinRest(T r, T z) {
  return Fma(r * z, Poly(z, Coefficients<T>::kSin), r);
}
template <typename T>
ONEFLOW_INLINE T CosRest(T z) {
  const T half = T(0.5) * z;
  const T w = T(1) - half;
  return w + (((T(1) - w) - half) + z * z * Poly(z, Coefficients<T>::kCos));
}

template <typename T>
ONEFLOW_INLINE T SinOfQuadrant(T r, IntOf<T> q) {
  const T z = r * r;
  const T y = (q & 1) != 0 ? CosRest(z) : SinRest(r, z);
  return (q & 2) != 0 ? -y : y;
}
template <typename T>
ONEFLOW_INLINE T Sin(T x) {
  IntOf<T> q;
  const T r = ReduceAngle(x, &q);
  return x == T(0) ? x : SinOfQuadrant(r, q);  // keeps the sign of zero
}
template <typename T>
ONEFLOW_INLINE T Cos(T x) {
  IntOf<T> q;
  const T r = ReduceAngle(x, &q);
  return SinOfQuadrant(r, static_cast<IntOf<T>>(q + 1));
}
template <typename T>
ONEFLOW_INLINE T Tan(T x) {
  IntOf<T> q;
  const T r = ReduceAngle(x, &q);
  const T z = r * r;
  const T s = SinRest(r, z);
  const T c = CosRest(z);
  const T y = (q & 1) != 0 ? -c / s : s / c;
  return x == T(0) ? x : y;
}

constexpr double kPi = 3.141592653589793;

// asin(sqrt(z)) / sqrt(z) less 1, z <= 1/4.
template <typename T>
ONEFLOW_INLINE T AsinRest(T z) {
  return z * Poly(z, Coefficients<T>::kAsin);
}
template <typename T>
ONEFLOW_INLINE T Asin(T x) {
  const T a = Abs(x);
  const bool near = a <= T(0.5);
  const T z = near ? a * a : T(0.5) * (T(1) - a);
  const T s = near ? a : Sqrt(z);
  const T y = Fma(s, AsinRest(z), s);
  constexpr T kLow = sizeof(T) == 4 ? T(-4.371139000186241e-08) : T(6.123233995736766e-17);
  return CopySign(near ? y : static_cast<T>(kPi / 2) - Fma(T(2), y, -kLow), x);
}
template <typename T>
ONEFLOW_INLINE T Acos(T x) {
  const T a = Abs(x);
  const bool near = a <= T(0.5);
  const T z = near ? a * a : T(0.5) * (T(1) - a);
  const T s = near ? a : Sqrt(z);
  const T y = Fma(s, AsinRest(z), s);
  constexpr T kLow = sizeof(T) == 4 ? T(-4.371139000186241e-08) : T(6.123233995736766e-17);
  const T middle = static_cast<T>(kPi / 2) - (CopySign(y, x) - kLow);
  const T outer = x < T(0) ? static_cast<T>(kPi) - Fma(T(2), y, T(-2) * kLow) : T(2) * y;
  return near ? middle : outer;
}

// The angle of (d, n), both >= 0 and not both 0 or infinite.
template <typename T>
ONEFLOW_INLINE T AtanOfRatio(T n, T d) {
  const bool swap = n > d;
  const T big = swap ? n : d;
  const T small = swap ? d : n;
  const bool middle = small > static_cast<T>(0.41421356237309503) * big;
  const T t = (middle ? small - big : small) / (middle ? small + big : big);
  const T z = t * t;
  T y = Fma(t * z, Poly(z, Coefficients<T>::kAtan), t);
  constexpr T kLow = sizeof(T) == 4 ? T(-4.371139000186241e-08) : T(6.123233995736766e-17);
  y = middle ? static_cast<T>(kPi / 4) + (y + kLow / 2) : y;
  return swap ? static_cast<T>(kPi / 2) - (y - kLow) : y;
}
template <typename T>
ONEFLOW_INLINE T Atan(T x) {
  const T a = Abs(x);
  const bool far = a > T(0x1p60);
  const T y = AtanOfRatio(far ? T(1) : a, far ? T(0) : T(1));
  return CopySign(x != x ? x : y, x);
}
template <typename T>
ONEFLOW_INLINE T Atan2(T y, T x) {
  const T big = Abs(x) > Abs(y) ? Abs(x) : Abs(y);
  // Scaled, so that no sum of the two overflows, and no quotient of them loses bits to underflow:
  // down only where a number that this makes subnormal is nothing beside the other.
  const T by = big > T(0x1p60) ? T(0x1p-30) : T(0x1p30);
  const bool infinite = big > Format<T>::kMax;
  const T up = infinite ? (Abs(y) > Format<T>::kMax ? T(1) : T(0)) : Abs(y) * by;
  const T right = infinite ? (Abs(x) > Format<T>::kMax ? T(1) : T(0)) : Abs(x) * by;
  T angle = AtanOfRatio(up, right);
  angle = big == T(0) ? T(0) : angle;
  constexpr T kLow = sizeof(T) == 4 ? T(-8.742278000372482e-08) : T(1.2246467991473532e-16);
  angle = CopySign(T(1), x) < T(0) ? static_cast<T>(kPi) - (angle - kLow) : angle;
  return x != x || y != y ? x + y : CopySign(angle, y);
}

// ---- hyperbolic functions --------------------------------------------------------------------

template <typename T>
ONEFLOW_INLINE T Tanh(T x) {
  const T a = Abs(x);
  const T limit = sizeof(T) == 4 ? T(10) : T(22);
  const T t = Expm1(T(2) * (a > limit ? limit : a));
  return x != x ? x : CopySign(t / (t + T(2)), x);
}
template <typename T>
ONEFLOW_INLINE T Sinh(T x) {
  const T a = Abs(x);
  const T half = ExpScaled(a, -1);
  const T z = a * a;
  const T near = Fma(a * z, Poly(z, Coefficients<T>::kSinh), a);
  return CopySign(a <= T(1) ? near : half - T(0.25) / half, x);
}
template <typename T>
ONEFLOW_INLINE T Cosh(T x) {
  const T half = ExpScaled(Abs(x), -1);
  return half + T(0.25) / half;
}
template <typename T>
ONEFLOW_INLINE T Asinh(T x) {
  const T a = Abs(x);
  const T large = sizeof(T) == 4 ? T(0x1p30) : T(0x1p60);
  const bool far = a > large;
  const T b = far ? T(1) : a;
  const T near = Log1p(b + b * b / (T(1) + Sqrt(Fma(b, b, T(1)))));
  return CopySign(far ? Log(a) + static_cast<T>(0.6931471805599453) : near, x);
}
template <typename T>
ONEFLOW_INLINE T Acosh(T x) {
  const T large = sizeof(T) == 4 ? T(0x1p30) : T(0x1p60);
  const T t = x - T(1);
  const T near = Log1p(t + Sqrt(T(2) * t + t * t));
  const T y = x > large ? Log(x) + static_cast<T>(0.6931471805599453) : near;
  return x >= T(1) ? y : kNan<T>;
}
template <typename T>
ONEFLOW_INLINE T Atanh(T x) {
  const T a = Abs(x);
  const T y = T(0.5) * Log1p(T(2) * a / (T(1) - a));
  return CopySign(a < Format<T>::kMin ? a : y, x);
}

// ---- the error function ----------------------------------------------------------------------

// erfc(x) exp(x^2) for x from 1 on.
template <typename T>
ONEFLOW_INLINE T ErfcScaled(T x) {
  const T u = T(1) / (x + T(2));
  return u * Poly(u, Coefficients<T>::kErfc);
}
template <typename T>
ONEFLOW_INLINE T ErfNear(T x) {
  return Fma(x, Poly(x * x, Coefficients<T>::kErf), x);
}
// erfc(x) for x from 1 on.
template <typename T>
ONEFLOW_INLINE T ErfcFar(T x) {
  const T limit = sizeof(T) == 4 ? T(10.2) : T(28);
  const T a = Clamp(x, T(1), limit);
  const T square = a * a;
  const T lost = ProductError(a, a, square);
  const T e = Exp(-square);
  return Fma(-lost, e, e) * ErfcScaled(a);
}
template <typename T>
ONEFLOW_INLINE T Erf(T x) {
  const T a = Abs(x);
  const T limit = sizeof(T) == 4 ? T(4) : T(6);
  const T b = Clamp(a, T(1), limit);
  const T far = Fma(-Exp(-b * b), ErfcScaled(b), T(1));
  const T y = a <= T(1) ? ErfNear(a) : far;
  return x != x ? x : CopySign(y, x);
}
template <typename T>
ONEFLOW_INLINE T Erfc(T x) {
  const T a = Abs(x);
  const T tail = ErfcFar(a);
  const T far = x < T(0) ? T(2) - tail : tail;
  const T near = T(0.5) + (T(0.5) - ErfNear(x));
  return x != x ? x : a <= T(1) ? near : far;
}

// Near erf, for what adds it to 1: within 3e-8 for float.
ONEFLOW_INLINE double ErfBesideOne(double x) { return Erf(x); }
ONEFLOW_INLINE float ErfBesideOne(float x) {
  const float a = Clamp(x, -3.9f, 3.9f);
  const float z = a * a;
  const float y = a * Poly(z, kErfTop) / Poly(z, kErfBottom);
  return Abs(x) >= 3.9f ? CopySign(1.0f, x) : y;
}

// Halley's step needs erf near the answer: erfc where x is near 1, so that nothing cancels.
ONEFLOW_INLINE double Erfinv(double x) {
  const double a = Abs(x);
  const double w = -Log((1.0 - a) * (1.0 + a));
  const double start = a * (w <= 6.25 ? Poly(w, kErfinvCentral) : Poly(Sqrt(w), kErfinvTail));
  const double b = Clamp(start, 0.0, 6.5);
  const double square = b * b;
  const double e = Exp(-square);
  const double far = Fma(-ProductError(b, b, square), e, e) * ErfcScaled(b > 1.0 ? b : 1.0);
  const double error = b <= 1.0 ? ErfNear(b) - a : (1.0 - a) - far;
  const double step = error / (1.1283791670955126 * e);
  double y = b - step / (1.0 + b * step);
  y = a == 1.0 ? kInf<double> : y;
  return a <= 1.0 ? CopySign(y, x) : kNan<double>;
}
ONEFLOW_INLINE float Erfinv(float x) {
  const float a = Abs(x);
  const float w = -Log((1.0f - a) * (1.0f + a));
  float y = a * (w <= 6.25f ? Poly(w - 3.125f, kErfinvCentralFloat)
                            : Poly(Sqrt(w) - 3.25f, kErfinvTailFloat));
  y = a == 1.0f ? kInf<float> : y;
  return a <= 1.0f ? CopySign(y, x) : kNan<float>;
}

// ---- powers ----------------------------------------------------------------------------------

// From |x|^y the power, where x may be negative: only integers are powers of those.
template <typename T>
ONEFLOW_INLINE T PowSpecial(T x, T y, T magnitude) {
  const T half = y * T(0.5);
  const T even = Rint(half) == half ? T(1) : x;
  const T odd = Rint(y) == y ? even : T(1);
  T p = CopySign(magnitude, odd);
  const T of_negative = Rint(y) == y ? p : kNan<T>;
  p = x < T(0) ? (x < -Format<T>::kMax ? p : of_negative) : p;
  const T of_one = Abs(y) > Format<T>::kMax ? T(1) : p;
  p = Abs(x) == T(1) ? of_one : p;
  p = x == T(1) ? T(1) : p;
  return y == T(0) ? T(1) : p;
}

// In double, by the logarithm to the base 2.
ONEFLOW_INLINE float Pow(float x, float y) {
  const double a = Abs(x);
  constexpr int64_t kRoot = 0x3fe6a09e667f3bcd;  // sqrt(1/2)
  const uint64_t bits = static_cast<uint64_t>(BitsAs<int64_t>(a) - kRoot + (int64_t{1023} << 52));
  // The exponent, plus 1023, as the low bits of a double.
  const double e = BitsAs<double>((bits >> 52) | 0x4330000000000000) - (0x1p52 + 1023.0);
  const double f = BitsAs<double>(static_cast<int64_t>((bits & 0xfffffffffffff) + kRoot)) - 1.0;
  double log2 = Fma(f, Poly(f, kLog2), e);
  log2 = a == 0.0 ? -kInf<double> : log2;
  log2 = a >= 0x1p128 ? kInf<double> : log2;
  log2 = a >= 0.0 ? log2 : kNan<double>;
  const double t = Clamp(static_cast<double>(y) * log2, -160.0, 160.0);
  const Rounded<double> n = RoundSmall(t);
  const double p = Poly(t - n.n, kExp2) * Power2<double>(n.i);
  return PowSpecial(x, y, static_cast<float>(p));
}

// The logarithm in two parts, of more than 65 bits together.
ONEFLOW_INLINE double Pow(double x, double y) {
  const double a = Abs(x);
  const Split<double> s0 = SplitAny(a);
  const double f = s0.f;
  const double d = 2.0 + f;
  const double inverse = 1.0 / d;
  const double s = f * inverse;
  const double sd = s * d;
  const double s_low = (((f - sd) - ProductError(s, d, sd)) - s * (f - (d - 2.0))) * inverse;
  const double z = s * s;
  const double z_low = ProductError(s, s, z) + 2.0 * s * s_low;
  constexpr double kThird = 0x1.5555555555555p-1;
  constexpr double kThirdLow = 0x1.5555555555555p-55;
  const double rest = (Poly(z, Coefficients<double>::kLog) - kThird) * z;
  const double c = z * kThird;
  const double c_low = ProductError(z, kThird, c) + (z_low * kThird + (z * kThirdLow + rest));
  const double b = s * c;
  const double b_low = ProductError(s, c, b) + (s * c_low + s_low * c);
  const double high = 2.0 * s + b;
  const double low = ((2.0 * s - high) + b) + (2.0 * s_low + b_low);
  const double power = s0.e * Ln2<double>::kHigh;
  const double sum = power + high;
  const double carry = sum - power;
  const double sum_low =
      ((power - (sum - carry)) + (high - carry)) + Fma(s0.e, Ln2<double>::kLow, low);
  const double log = sum + sum_low;
  const double log_low = (sum - log) + sum_low;
  const double t = y * log;
  const double t_low = ProductError(y, log, t) + y * log_low;
  Rounded<double> n;
  const double r = ExpReduce(Clamp(t, -746.0, 711.0), &n) + t_low;
  double p = ScaleBy(ExpRest(r) + 1.0, n.i);
  p = t > 709.8 ? kInf<double> : p;
  p = t < -745.5 ? 0.0 : p;
  const double of_zero = y < 0.0 ? kInf<double> : 0.0;
  const double of_infinity = y < 0.0 ? 0.0 : kInf<double>;
  p = a == 0.0 ? of_zero : p;
  p = a > Format<double>::kMax ? of_infinity : p;
  p = x == x ? p : kNan<double>;
  p = y == y ? p : kNan<double>;
  return PowSpecial(x, y, p);
}

}  // namespace
}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_MATH_FUNCTIONS_H_
