// The arithmetic of philox.h, inline, for loops that the compiler turns into vectors.
//
// No branches, no library calls but sqrt (which IEEE 754 rounds exactly), no conversions that some
// instruction sets lack. Everything is in an unnamed namespace, because files compiled for several
// instruction sets include it. Use philox.h elsewhere. Thread safety: pure functions.
#ifndef ONEFLOW_CORE_PHILOX_INLINE_H_
#define ONEFLOW_CORE_PHILOX_INLINE_H_

#include <cstdint>

#define ONEFLOW_PHILOX_INLINE inline __attribute__((always_inline))

namespace oneflow {
namespace philox {
namespace {

// Ten rounds on the counter words c0..c3, in place; the key is two words.
ONEFLOW_PHILOX_INLINE void Rounds(uint32_t k0, uint32_t k1, uint32_t* c0, uint32_t* c1,
                                  uint32_t* c2, uint32_t* c3) {
  uint32_t x0 = *c0, x1 = *c1, x2 = *c2, x3 = *c3;
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * x0;
    const uint64_t p1 = uint64_t{0xCD9E8D57} * x2;
    x0 = static_cast<uint32_t>(p1 >> 32) ^ x1 ^ k0;
    x1 = static_cast<uint32_t>(p1);
    x2 = static_cast<uint32_t>(p0 >> 32) ^ x3 ^ k1;
    x3 = static_cast<uint32_t>(p0);
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  *c0 = x0, *c1 = x1, *c2 = x2, *c3 = x3;
}

ONEFLOW_PHILOX_INLINE double AsDouble(uint64_t bits) {
  double x;
  __builtin_memcpy(&x, &bits, sizeof(x));
  return x;
}
ONEFLOW_PHILOX_INLINE uint64_t AsBits(double x) {
  uint64_t bits;
  __builtin_memcpy(&bits, &x, sizeof(bits));
  return bits;
}

// An integer below 2^52 as a double: it becomes the fraction of a number in [2^52, 2^53).
ONEFLOW_PHILOX_INLINE double ToDouble(uint64_t v) {
  return AsDouble(v | 0x4330000000000000u) - 0x1p52;
}

// [0, 1) with 53 random bits. Both terms and their sum are exact.
ONEFLOW_PHILOX_INLINE double Uniform(uint32_t a, uint32_t b) {
  return ToDouble(a) * 0x1p-32 + ToDouble(b >> 11) * 0x1p-53;
}

// Natural logarithm of a normal x > 0, within 2 units in the last place. x = m 2^e with m in
// [sqrt(1/2), sqrt(2)); ln m = 2 artanh(s), s = (m - 1) / (m + 1), by its series.
ONEFLOW_PHILOX_INLINE double Log(double x) {
  constexpr uint64_t kSqrtHalf = 0x3fe6a09e667f3bcd;
  constexpr uint64_t kBias = uint64_t{1024} << 52;  // keeps the shifted number positive
  const uint64_t shifted = AsBits(x) - kSqrtHalf + kBias;
  const double e = ToDouble(shifted >> 52) - 1024.0;
  const double m = AsDouble((shifted & 0x000fffffffffffffu) + kSqrtHalf);
  const double s = (m - 1.0) / (m + 1.0);
  const double z = s * s;
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
  p = p * z + 1.0 / 3;
  p = p * z * s + s;
  return e * 0.69314718055994530942 + 2.0 * p;
}

// Cosine and sine of 2 pi u, u in [0, 1), within 1e-16. u = q / 4 + r with |r| <= 1/8; the series
// on the small angle, then q quarter turns.
ONEFLOW_PHILOX_INLINE void CosSinTurns(double u, double* cosine, double* sine) {
  constexpr double kRound = 0x1.8p52;  // adding it rounds to an integer
  const double shifted = u * 4.0 + kRound;
  const double r = u - (shifted - kRound) * 0.25;  // exact
  const uint64_t quarter = AsBits(shifted) & 3;
  const double t = r * 6.28318530717958647692;
  const double z = t * t;
  double s = 1.0 / 355687428096000;
  s = s * z - 1.0 / 1307674368000;
  s = s * z + 1.0 / 6227020800;
  s = s * z - 1.0 / 39916800;
  s = s * z + 1.0 / 362880;
  s = s * z - 1.0 / 5040;
  s = s * z + 1.0 / 120;
  s = s * z - 1.0 / 6;
  s = s * z * t + t;
  double c = 1.0 / 20922789888000;
  c = c * z - 1.0 / 87178291200;
  c = c * z + 1.0 / 479001600;
  c = c * z - 1.0 / 3628800;
  c = c * z + 1.0 / 40320;
  c = c * z - 1.0 / 720;
  c = c * z + 1.0 / 24;
  c = c * z - 0.5;
  c = c * z + 1.0;
  // Odd quarters exchange the two; quarters 1, 2 turn the cosine's sign, 2, 3 the sine's.
  const uint64_t swap = 0 - (quarter & 1);
  const uint64_t cosine_bits = (AsBits(c) & ~swap) | (AsBits(s) & swap);
  const uint64_t sine_bits = (AsBits(s) & ~swap) | (AsBits(c) & swap);
  *cosine = AsDouble(cosine_bits ^ (((quarter + 1) & 2) << 62));
  *sine = AsDouble(sine_bits ^ ((quarter & 2) << 62));
}

// Box and Muller: two standard normal numbers from the four words of a block.
ONEFLOW_PHILOX_INLINE void Normal(uint32_t w0, uint32_t w1, uint32_t w2, uint32_t w3, double* x,
                                  double* y) {
  const double radius = __builtin_sqrt(-2.0 * Log(1.0 - Uniform(w0, w1)));
  double cosine, sine;
  CosSinTurns(Uniform(w2, w3), &cosine, &sine);
  *x = radius * cosine;
  *y = radius * sine;
}

}  // namespace
}  // namespace philox
}  // namespace oneflow

#endif  // ONEFLOW_CORE_PHILOX_INLINE_H_
