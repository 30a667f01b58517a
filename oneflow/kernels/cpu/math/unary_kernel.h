// A kernel of its own for one formula in one number: what `tools/new_op --kernel` begins with.
//
//   struct Formula {
//     template <typename T>
//     static T Apply(T x) { return std::tanh(x); }
//   };
//   ONEFLOW_REGISTER_UNARY_KERNEL(tanh, Formula);
//
// gives tanh.cpu.reference for float32, float64 and the halves, of any strides, with threads. Not
// vectorised for newer instruction sets; ops.h says how that is done.
// Thread safety: pure functions.
#ifndef ONEFLOW_KERNELS_CPU_MATH_UNARY_KERNEL_H_
#define ONEFLOW_KERNELS_CPU_MATH_UNARY_KERNEL_H_

#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/math/engine.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

template <typename Formula>
struct UnaryKernel {
  template <typename T>
  static void Loop(void* out, const void* x, const void*, const void*, int64_t n,
                   const MathAttrs&) {
    for (int64_t i = 0; i < n; ++i) {
      static_cast<T*>(out)[i] = Formula::Apply(static_cast<const T*>(x)[i]);
    }
  }

  static Maybe<void> Run(const KernelCall& call) {
    const bool wide = call.inputs[0].dtype == DataType::kDouble;
    RunMath(wide ? &Loop<double> : &Loop<float>, false, call.outputs[0], call.inputs, 1,
            MathAttrs(), call.threads);
    return Ok();
  }

  static const char* Accept(const KernelCall& call) {
    const DataType dtype = call.inputs[0].dtype;
    return IsFloating(dtype) && call.outputs[0].dtype == dtype ? nullptr : "dtype not supported";
  }

  // About ten nanoseconds for each element.
  static double Cost(const KernelCall& call) {
    return ElementwiseCostNs(call) + 10.0 * static_cast<double>(call.outputs[0].Count());
  }
};

#define ONEFLOW_REGISTER_UNARY_KERNEL(name, Formula)                                 \
  ONEFLOW_REGISTER_KERNEL(name, {#name ".cpu.reference", &UnaryKernel<Formula>::Run, \
                                 &UnaryKernel<Formula>::Accept, &UnaryKernel<Formula>::Cost})

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_MATH_UNARY_KERNEL_H_
