// The kernel add on the GPU.
#include "oneflow/kernels/cuda/add.cuh"

#include "oneflow/kernels/attrs.h"
#include "oneflow/kernels/cuda/elementwise.cuh"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cuda {

namespace {

const char* AcceptAdd(const KernelCall& call) {
  const DataType dtype = call.inputs[0].dtype;
  if (call.inputs[1].dtype != dtype) { return "operands of different dtypes"; }
  return call.outputs[0].dtype == dtype ? nullptr : "an output of another dtype";
}

// What the issuing thread does; the work itself runs beside it.
double LaunchCostNs(const KernelCall&) { return 5000.0; }

Maybe<void> RunAdd(const KernelCall& call) {
  const ArrayView& out = call.outputs[0];
  const ArrayView& x = call.inputs[0];
  const ArrayView& y = call.inputs[1];
  const ArrayView* operands[] = {&out, &x, &y};
  const StridedPlan plan = MakeStridedPlan(operands, 3);
  const auto stream = static_cast<cudaStream_t>(call.native_stream);
  return WithAdd(x.dtype, call.GetAttrs<AddAttrs>().alpha, [&](auto op, auto zero) {
    using T = decltype(zero);
    return LaunchBinary(plan, out.Data<T>(), static_cast<const T*>(x.Data<T>()),
                        static_cast<const T*>(y.Data<T>()), op, stream);
  });
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(add, {"add.cuda.vector", &RunAdd, &AcceptAdd, &LaunchCostNs});

}  // namespace cuda
}  // namespace oneflow
