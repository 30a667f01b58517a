// The kernel exp: out = e ** input.
#include <cmath>

#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/strided_loop.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

template <typename T>
T Compute(T x) {
  return std::exp(x);
}

// Operand 0 is the output, operand 1 the input.
template <typename T>
void Loop(const LoopRun& run, const void*) {
  for (int64_t i = 0; i < run.n; ++i) {
    const T x = *reinterpret_cast<const T*>(run.data[1] + i * run.strides[1]);
    *reinterpret_cast<T*>(run.data[0] + i * run.strides[0]) = Compute(x);
  }
}

const char* Accept(const KernelCall& call) {
  const DataType dtype = call.inputs[0].dtype;
  const bool known = dtype == DataType::kFloat || dtype == DataType::kDouble;
  return known && call.outputs[0].dtype == dtype ? nullptr : "dtype not supported";
}

Maybe<void> Run(const KernelCall& call) {
  const ArrayView* operands[] = {&call.outputs[0], &call.inputs[0]};
  const StridedLoop loop(operands, 2);
  const bool single = call.inputs[0].dtype == DataType::kFloat;
  loop.Run(call.threads, single ? &Loop<float> : &Loop<double>, nullptr);
  return Ok();
}

// About ten nanoseconds for each element.
double Cost(const KernelCall& call) {
  return ElementwiseCostNs(call) + 10.0 * static_cast<double>(call.outputs[0].Count());
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(exp, {"exp.cpu.reference", &Run, &Accept, &Cost});

}  // namespace cpu
}  // namespace oneflow
