// The logistic function and tanh for loops that the compiler turns into vectors.
//
// From exp.h's exponential: the same bits under every instruction set. tanh near zero is its own
// Taylor series (the coefficients are those of the Bernoulli numbers), since 1 - 2 / (1 + e^2x)
// cancels there. Included only by files that of_isa_kernels() compiles: in an unnamed namespace.
#ifndef ONEFLOW_KERNELS_CPU_RNN_GATE_MATH_H_
#define ONEFLOW_KERNELS_CPU_RNN_GATE_MATH_H_

#include "oneflow/kernels/cpu/exp.h"

namespace oneflow {
namespace cpu {
namespace {

template <typename T>
inline __attribute__((always_inline)) T Logistic(T x) {
  return T(1) / (T(1) + Exp(-x));
}

// tanh(x) / x - 1 for |x| <= 1/4, by powers of z = x * x.
inline __attribute__((always_inline)) float TanhSeries(float z) {
  float p = -1382.0f / 155925.0f;
  p = p * z + 62.0f / 2835.0f;
  p = p * z - 17.0f / 315.0f;
  p = p * z + 2.0f / 15.0f;
  p = p * z - 1.0f / 3.0f;
  return p * z;
}
inline __attribute__((always_inline)) double TanhSeries(double z) {
  double p = 18888466084.0 / 194896477400625.0;
  p = p * z - 443861162.0 / 1856156927625.0;
  p = p * z + 6404582.0 / 10854718875.0;
  p = p * z - 929569.0 / 638512875.0;
  p = p * z + 21844.0 / 6081075.0;
  p = p * z - 1382.0 / 155925.0;
  p = p * z + 62.0 / 2835.0;
  p = p * z - 17.0 / 315.0;
  p = p * z + 2.0 / 15.0;
  p = p * z - 1.0 / 3.0;
  return p * z;
}

template <typename T>
inline __attribute__((always_inline)) T Tanh(T x) {
  const T z = x * x;
  const T near = x + x * TanhSeries(z);
  const T far = T(1) - T(2) / (T(1) + Exp(x + x));
  return z < T(0.0625) ? near : far;
}

}  // namespace
}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_RNN_GATE_MATH_H_
