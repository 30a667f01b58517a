// What the functions of this folder are written with: one number of type float or double, in loops
// that the compiler turns into vectors. No branches, only selections; a * b + c in one rounding
// where the instruction set has it (AVX2 and AVX-512 give the same bits, the baseline may differ in
// the last one).
//
// Included only by files that of_isa_kernels() compiles: everything is in an unnamed namespace.
// Thread safety: pure functions.
#ifndef ONEFLOW_KERNELS_CPU_MATH_NUMBER_H_
#define ONEFLOW_KERNELS_CPU_MATH_NUMBER_H_

#include <cstdint>
#include <type_traits>

namespace oneflow {
namespace cpu {
namespace {

#define ONEFLOW_INLINE inline __attribute__((always_inline))

template <typename To, typename From>
ONEFLOW_INLINE To BitsAs(From from) {
  static_assert(sizeof(To) == sizeof(From), "same size");
  To to;
  __builtin_memcpy(&to, &from, sizeof(to));
  return to;
}

template <typename T>
struct Format;
template <>
struct Format<float> {
  using Int = int32_t;
  static constexpr int kMantissa = 23;
  static constexpr int kBias = 127;
  static constexpr float kRound = 0x1.8p23f;  // adding it rounds to an integer
  static constexpr float kMin = 0x1p-126f;    // the smallest normal number
  static constexpr float kMax = 0x1.fffffep127f;
};
template <>
struct Format<double> {
  using Int = int64_t;
  static constexpr int kMantissa = 52;
  static constexpr int kBias = 1023;
  static constexpr double kRound = 0x1.8p52;
  static constexpr double kMin = 0x1p-1022;
  static constexpr double kMax = 0x1.fffffffffffffp1023;
};
template <typename T>
using IntOf = typename Format<T>::Int;

template <typename T>
constexpr T kNan = static_cast<T>(__builtin_nan(""));
template <typename T>
constexpr T kInf = static_cast<T>(__builtin_inf());

ONEFLOW_INLINE float Fma(float a, float b, float c) {
#ifdef __FMA__
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}
ONEFLOW_INLINE double Fma(double a, double b, double c) {
#ifdef __FMA__
  return __builtin_fma(a, b, c);
#else
  return a * b + c;
#endif
}

// a * b less its rounded value p: exact with FMA, by Dekker's splitting without.
ONEFLOW_INLINE float ProductError(float a, float b, float p) {
#ifdef __FMA__
  return __builtin_fmaf(a, b, -p);
#else
  return static_cast<float>(static_cast<double>(a) * b - p);
#endif
}
ONEFLOW_INLINE double ProductError(double a, double b, double p) {
#ifdef __FMA__
  return __builtin_fma(a, b, -p);
#else
  const double ha = BitsAs<double>(BitsAs<uint64_t>(a) & ~uint64_t{0x7ffffff});
  const double hb = BitsAs<double>(BitsAs<uint64_t>(b) & ~uint64_t{0x7ffffff});
  const double la = a - ha;
  const double lb = b - hb;
  return ((ha * hb - p) + ha * lb + la * hb) + la * lb;
#endif
}

ONEFLOW_INLINE float Abs(float x) { return __builtin_fabsf(x); }
ONEFLOW_INLINE double Abs(double x) { return __builtin_fabs(x); }
ONEFLOW_INLINE float CopySign(float x, float sign) { return __builtin_copysignf(x, sign); }
ONEFLOW_INLINE double CopySign(double x, double sign) { return __builtin_copysign(x, sign); }
ONEFLOW_INLINE float Sqrt(float x) { return __builtin_sqrtf(x); }
ONEFLOW_INLINE double Sqrt(double x) { return __builtin_sqrt(x); }
ONEFLOW_INLINE float Floor(float x) { return __builtin_floorf(x); }
ONEFLOW_INLINE double Floor(double x) { return __builtin_floor(x); }
ONEFLOW_INLINE float Ceil(float x) { return __builtin_ceilf(x); }
ONEFLOW_INLINE double Ceil(double x) { return __builtin_ceil(x); }
ONEFLOW_INLINE float Trunc(float x) { return __builtin_truncf(x); }
ONEFLOW_INLINE double Trunc(double x) { return __builtin_trunc(x); }
ONEFLOW_INLINE float Rint(float x) { return __builtin_rintf(x); }
ONEFLOW_INLINE double Rint(double x) { return __builtin_rint(x); }

// c[0] + c[1] x + ..., by Horner's rule.
template <int I = 0, typename T, int N>
ONEFLOW_INLINE T Poly(T x, const T (&c)[N]) {
  if constexpr (I + 1 == N) {
    return c[I];
  } else {
    return Fma(Poly<I + 1>(x, c), x, c[I]);
  }
}

// 2^n for a normal result; anything for an n out of range, which a NaN brings.
template <typename T>
ONEFLOW_INLINE T Power2(IntOf<T> n) {
  using Int = IntOf<T>;
  using UInt = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  return BitsAs<T>(static_cast<UInt>(n + Int{Format<T>::kBias}) << Format<T>::kMantissa);
}

// y * 2^n in two steps, so that neither factor leaves the normal range.
template <typename T>
ONEFLOW_INLINE T ScaleBy(T y, IntOf<T> n) {
  const IntOf<T> half = n >> 1;
  return y * Power2<T>(half) * Power2<T>(static_cast<IntOf<T>>(n - half));
}

// x = n + rest, n an integer of at most 2^22 in magnitude.
template <typename T>
struct Rounded {
  T n;
  IntOf<T> i;
};
template <typename T>
ONEFLOW_INLINE Rounded<T> RoundSmall(T x) {
  const T shifted = x + Format<T>::kRound;
  return {shifted - Format<T>::kRound,
          static_cast<IntOf<T>>(BitsAs<IntOf<T>>(shifted) - BitsAs<IntOf<T>>(Format<T>::kRound))};
}

}  // namespace
}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_MATH_NUMBER_H_
