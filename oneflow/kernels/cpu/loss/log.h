// The natural logarithm for loops that the compiler turns into vectors.
//
// x = m 2^e with m near 1; ln m = 2 artanh(s), s = (m - 1) / (m + 1), by its series. Plain
// arithmetic, so that every instruction set gives the same bits; within 2 units in the last place.
// ln 0 = -inf, of a negative number NaN. Included only by files that of_isa_kernels() compiles.
#ifndef ONEFLOW_KERNELS_CPU_LOSS_LOG_H_
#define ONEFLOW_KERNELS_CPU_LOSS_LOG_H_

#include <cstdint>

#include "oneflow/kernels/cpu/exp.h"

namespace oneflow {
namespace cpu {
namespace {

// artanh(s) / s - 1 over s^2, for |s| <= 0.172.
inline __attribute__((always_inline)) float ArtanhTail(float z) {
  return 1.0f / 3 + z * (1.0f / 5 + z * (1.0f / 7 + z * (1.0f / 9)));
}
inline __attribute__((always_inline)) double ArtanhTail(double z) {
  double p = 1.0 / 23;
  p = p * z + 1.0 / 21;
  p = p * z + 1.0 / 19;
  p = p * z + 1.0 / 17;
  p = p * z + 1.0 / 15;
  p = p * z + 1.0 / 13;
  p = p * z + 1.0 / 11;
  p = p * z + 1.0 / 9;
  p = p * z + 1.0 / 7;
  p = p * z + 1.0 / 5;
  return p * z + 1.0 / 3;
}
inline __attribute__((always_inline)) float Log(float x) {
  constexpr int32_t kSqrtHalf = 0x3f3504f3;
  const bool tiny = x < 1.17549435e-38f;
  const float y = tiny ? x * 33554432.0f : x;  // 2^25
  const int32_t bits = BitCast<int32_t>(y) - kSqrtHalf;
  const float e = static_cast<float>(bits >> 23) - (tiny ? 25.0f : 0.0f);
  const float m = BitCast<float>((bits & 0x007fffff) + kSqrtHalf);
  const float f = m - 1.0f;
  const float s = f / (m + 1.0f);
  const float z = s * s;
  // 2 s = f - s f, which keeps the bits of f.
  const float series = f - s * (f - 2.0f * z * ArtanhTail(z));
  float out = e * 0.693359375f + (series - e * 2.12194440e-4f);
  out = x == 0.0f ? -__builtin_inff() : out;
  out = x == __builtin_inff() ? x : out;
  return x >= 0.0f ? out : __builtin_nanf("");
}

inline __attribute__((always_inline)) double Log(double x) {
  constexpr int64_t kSqrtHalf = 0x3fe6a09e667f3bcd;
  const bool tiny = x < 2.2250738585072014e-308;
  const double y = tiny ? x * 18014398509481984.0 : x;  // 2^54
  const int64_t bits = BitCast<int64_t>(y) - kSqrtHalf;
  // The exponent as a double, without a conversion that older instruction sets lack.
  const double e = BitCast<double>(((bits >> 52) + 2048) | 0x4330000000000000) -
                   4503599627370496.0 - 2048.0 - (tiny ? 54.0 : 0.0);
  const double m = BitCast<double>((bits & 0x000fffffffffffff) + kSqrtHalf);
  const double f = m - 1.0;
  const double s = f / (m + 1.0);
  const double z = s * s;
  const double series = f - s * (f - 2.0 * z * ArtanhTail(z));
  double out = e * 0.69314718036912382 + (series + e * 1.90821492927058770e-10);
  out = x == 0.0 ? -__builtin_inf() : out;
  out = x == __builtin_inf() ? x : out;
  return x >= 0.0 ? out : __builtin_nan("");
}

// ln(1 + u) for u in [0, 1].
template <typename T>
inline __attribute__((always_inline)) T Log1pUnit(T u) {
  const T y = T{1} + u;
  // What the rounding of 1 + u has lost.
  return Log(y) + (u - (y - T{1})) / y;
}

// ln(1 - x) for x in [0, 1].
template <typename T>
inline __attribute__((always_inline)) T Log1m(T x) {
  const T y = T{1} - x;
  const T lost = (T{1} - y) - x;
  return Log(y) + (y > T{0} ? lost / y : T{0});
}

}  // namespace
}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_LOSS_LOG_H_
