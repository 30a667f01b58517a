// The dense inner loops of the losses between elements, one table for each instruction set.
//
// An operand x, a target t, and where given a weight and a weight of positive targets for each
// element. LossKind in attrs_norm.h says what each computes. Thread safety: constants.
#ifndef ONEFLOW_KERNELS_CPU_LOSS_LOSS_LOOPS_H_
#define ONEFLOW_KERNELS_CPU_LOSS_LOSS_LOOPS_H_

#include <cstdint>

#include "oneflow/kernels/cpu/isa.h"

namespace oneflow {
namespace cpu {

inline constexpr int kNumLossKinds = 8;

template <typename T>
struct LossOperands {
  const T* x;
  const T* t;
  const T* weight;           // or nullptr: 1
  const T* positive_weight;  // or nullptr: 1
  T beta;
};

template <typename T>
struct LossLoops {
  double (*sum)(const LossOperands<T>& a, int64_t n);
  void (*each)(const LossOperands<T>& a, T* out, int64_t n);
  // out[i] = scale * dy[i] * the derivative by x (or t); dy may be nullptr: 1.
  void (*backward_x)(const LossOperands<T>& a, const T* dy, T scale, T* out, int64_t n);
  void (*backward_t)(const LossOperands<T>& a, const T* dy, T scale, T* out, int64_t n);
};

struct LossLoopTable {
  LossLoops<float> single[kNumLossKinds];
  LossLoops<double> twice[kNumLossKinds];
};

ONEFLOW_DECLARE_ISA_TABLE(LossLoopTable, GetLossLoopTable);

template <typename T>
inline const LossLoops<T>& GetLossLoops(int64_t kind) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return GetLossLoopTable().single[kind];
  } else {
    return GetLossLoopTable().twice[kind];
  }
}

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_LOSS_LOSS_LOOPS_H_
