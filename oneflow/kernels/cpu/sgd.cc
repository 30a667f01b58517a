// The kernel sgd_update: param, [buffer], grad -> param, [buffer], in place.
#include "oneflow/core/shape.h"
#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs.h"
#include "oneflow/kernels/cpu/copy.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/optimizer_loops.h"
#include "oneflow/kernels/cpu/strided_loop.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

bool UsesBuffer(const KernelCall& call) { return call.GetAttrs<SgdUpdateAttrs>().momentum != 0.0; }

const char* Accept(const KernelCall& call) {
  const DataType dtype = call.inputs[0].dtype;
  if (GetOptimizerLoops().sgd[static_cast<int>(dtype)] == nullptr) { return "dtype not supported"; }
  if (!call.inputs[0].contiguous) { return "param is not dense"; }
  if (call.inputs[2].dtype != dtype) { return "grad of another dtype"; }
  if (!UsesBuffer(call)) { return nullptr; }
  if (!call.HasInput(1)) { return "momentum needs a buffer"; }
  if (call.inputs[1].dtype != dtype) { return "buffer of another dtype"; }
  return call.inputs[1].contiguous ? nullptr : "buffer is not dense";
}

size_t ScratchBytes(const KernelCall& call) {
  const ArrayView& grad = call.inputs[2];
  return grad.contiguous ? 0 : static_cast<size_t>(grad.Count()) * SizeOf(grad.dtype);
}

// The gradient as dense memory.
const char* DenseGrad(const KernelCall& call) {
  const ArrayView& grad = call.inputs[2];
  if (grad.contiguous) { return grad.Data<char>(); }
  const Dims strides = ContiguousStrides(Dims(grad.shape, grad.ndim));
  ArrayView packed = grad;
  packed.data = call.scratch;
  packed.strides = strides.data();
  packed.contiguous = true;
  CopyArray(packed, grad, call.threads);
  return packed.Data<char>();
}

Maybe<void> Run(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<SgdUpdateAttrs>();
  const ArrayView& param = call.outputs[0];
  const SgdFn update = GetOptimizerLoops().sgd[static_cast<int>(param.dtype)];
  const auto size = static_cast<int64_t>(SizeOf(param.dtype));
  const char* grad = DenseGrad(call);
  char* buffer = UsesBuffer(call) ? call.inputs[1].Data<char>() : nullptr;
  ParallelFor(call.threads, param.Count(), StridedLoop::kGrain, [&](int64_t begin, int64_t end) {
    update(param.Data<char>() + begin * size, buffer == nullptr ? nullptr : buffer + begin * size,
           grad + begin * size, end - begin, attrs);
  });
  return Ok();
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(sgd_update, {"sgd_update.cpu.vector", &Run, &Accept, &ElementwiseCostNs,
                                     &ScratchBytes});

}  // namespace cpu
}  // namespace oneflow
