// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/optimizer_loops.h"

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

template <typename T>
void SgdPlain(T* __restrict param, const T* __restrict grad, int64_t n, T step, T decay) {
  for (int64_t i = 0; i < n; ++i) { param[i] += step * (grad[i] + decay * param[i]); }
}

template <typename T, bool kNesterov>
void SgdMomentum(T* __restrict param, T* __restrict buffer, const T* __restrict grad, int64_t n,
                 T step, T decay, T sign, T momentum, T fresh) {
  for (int64_t i = 0; i < n; ++i) {
    const T g = sign * grad[i] + decay * param[i];
    const T b = momentum * buffer[i] + fresh * g;
    buffer[i] = b;
    param[i] += step * (kNesterov ? g + momentum * b : b);
  }
}

// The first step does not read the buffer, which may hold anything, NaN included.
template <typename T, bool kNesterov>
void SgdFirst(T* __restrict param, T* __restrict buffer, const T* __restrict grad, int64_t n,
              T step, T decay, T sign, T momentum) {
  for (int64_t i = 0; i < n; ++i) {
    const T g = sign * grad[i] + decay * param[i];
    buffer[i] = g;
    param[i] += step * (kNesterov ? g + momentum * g : g);
  }
}

template <typename T>
void Sgd(void* param, void* buffer, const void* grad, int64_t n, const SgdUpdateAttrs& attrs) {
  T* p = static_cast<T*>(param);
  T* b = static_cast<T*>(buffer);
  const T* g = static_cast<const T*>(grad);
  const T step = static_cast<T>(-attrs.lr);
  const T decay = static_cast<T>(attrs.weight_decay);
  const T sign = attrs.maximize ? T(-1) : T(1);
  const T momentum = static_cast<T>(attrs.momentum);
  const T fresh = static_cast<T>(1.0 - attrs.dampening);
  if (b == nullptr) {
    // -(g + d p) = -g - d p: the sign goes into step and decay.
    return SgdPlain<T>(p, g, n, sign * step, sign * decay);
  }
  if (attrs.first_step) {
    return attrs.nesterov ? SgdFirst<T, true>(p, b, g, n, step, decay, sign, momentum)
                          : SgdFirst<T, false>(p, b, g, n, step, decay, sign, momentum);
  }
  attrs.nesterov ? SgdMomentum<T, true>(p, b, g, n, step, decay, sign, momentum, fresh)
                 : SgdMomentum<T, false>(p, b, g, n, step, decay, sign, momentum, fresh);
}

constexpr OptimizerLoops MakeLoops() {
  OptimizerLoops table = {};
  table.sgd[static_cast<int>(DataType::kFloat)] = &Sgd<float>;
  table.sgd[static_cast<int>(DataType::kDouble)] = &Sgd<double>;
  return table;
}

constexpr OptimizerLoops kLoops = MakeLoops();

}  // namespace

const OptimizerLoops& GetOptimizerLoops() { return kLoops; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
