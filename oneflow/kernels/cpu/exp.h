// The exponential function for loops that the compiler turns into vectors.
//
// Range reduction by powers of two (x = n ln 2 + r, |r| <= ln 2 / 2), Taylor's series of e^r. Plain
// multiplications and additions, so that every instruction set gives the same bits; within 1.5
// units in the last place. exp(-inf) = 0, exp(inf) = inf, NaN stays NaN.
// Included only by files that of_isa_kernels() compiles: everything is in an unnamed namespace.
#ifndef ONEFLOW_KERNELS_CPU_EXP_H_
#define ONEFLOW_KERNELS_CPU_EXP_H_

#include <cstdint>

namespace oneflow {
namespace cpu {
namespace {

template <typename To, typename From>
inline __attribute__((always_inline)) To BitCast(From from) {
  static_assert(sizeof(To) == sizeof(From), "same size");
  To to;
  __builtin_memcpy(&to, &from, sizeof(to));
  return to;
}

// 2^n for a normal result; anything for an n out of range, which a NaN brings.
inline __attribute__((always_inline)) float PowerOfTwo(int32_t n) {
  return BitCast<float>(static_cast<uint32_t>(n + 127) << 23);
}
inline __attribute__((always_inline)) double PowerOfTwo(int64_t n) {
  return BitCast<double>(static_cast<uint64_t>(n + 1023) << 52);
}

// y * 2^n in two steps, so that neither factor leaves the normal range.
template <typename T, typename Int>
inline __attribute__((always_inline)) T Scale(T y, Int n) {
  const Int half = n >> 1;
  return y * PowerOfTwo(half) * PowerOfTwo(static_cast<Int>(n - half));
}

// x = n ln 2 + r: e^r, and n.
inline __attribute__((always_inline)) float ExpOfRest(float x, int32_t* n_out) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  const float shifted = x * 1.44269504f + kRound;
  const float n = shifted - kRound;
  const float r = (x - n * 0.693145751953125f) - n * 1.42860682e-6f;
  float p = 1.0f / 5040;
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  *n_out = BitCast<int32_t>(shifted) - BitCast<int32_t>(kRound);
  return p * r * r + r + 1.0f;
}

inline __attribute__((always_inline)) double ExpOfRest(double x, int64_t* n_out) {
  constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52
  const double shifted = x * 1.4426950408889634 + kRound;
  const double n = shifted - kRound;
  const double r = (x - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;
  double p = 1.0 / 6227020800.0;
  p = p * r + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  *n_out = BitCast<int64_t>(shifted) - BitCast<int64_t>(kRound);
  return p * r * r + r + 1.0;
}

inline __attribute__((always_inline)) float Exp(float x) {
  x = x < -104.0f ? -104.0f : x;
  x = x > 89.0f ? 89.0f : x;
  int32_t n;
  const float y = ExpOfRest(x, &n);
  return Scale(y, n);
}
inline __attribute__((always_inline)) double Exp(double x) {
  x = x < -746.0 ? -746.0 : x;
  x = x > 710.0 ? 710.0 : x;
  int64_t n;
  const double y = ExpOfRest(x, &n);
  return Scale(y, n);
}

// The same bits for x <= 0, with less work: no power overflows, so that the first factor can be a normal
// number for every n, and only the second, a constant, may lead to a subnormal one.
inline __attribute__((always_inline)) float ExpNonPositive(float x) {
  int32_t n;
  const float y = ExpOfRest(x < -104.0f ? -104.0f : x, &n);
  return y * PowerOfTwo(n + 64) * 0x1p-64f;
}
inline __attribute__((always_inline)) double ExpNonPositive(double x) {
  int64_t n;
  const double y = ExpOfRest(x < -746.0 ? -746.0 : x, &n);
  return y * PowerOfTwo(n + 128) * 0x1p-128;
}

}  // namespace
}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_EXP_H_
