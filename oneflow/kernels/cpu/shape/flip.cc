// The kernel flip: a copy whose operand is walked backwards along some dims.
#include "oneflow/core/dims.h"
#include "oneflow/core/shape.h"
#include "oneflow/kernels/attrs_shape.h"
#include "oneflow/kernels/cpu/copy.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

Maybe<void> Run(const KernelCall& call) {
  const IntList& dims = call.GetAttrs<FlipAttrs>().dims;
  const ArrayView& in = call.inputs[0];
  if (in.Count() == 0) { return Ok(); }
  const auto size = static_cast<int64_t>(SizeOf(in.dtype));
  Strides strides(in.strides, in.ndim);
  ArrayView mirrored = in;
  for (int i = 0; i < dims.count; ++i) {
    const int dim = static_cast<int>(dims.values[i]);
    mirrored.data = mirrored.Data<char>() + (in.shape[dim] - 1) * in.strides[dim] * size;
    strides[dim] = -in.strides[dim];
  }
  mirrored.strides = strides.data();
  mirrored.contiguous = false;
  CopyArray(call.outputs[0], mirrored, call.threads);
  return Ok();
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(flip, {"flip.cpu.copy", &Run, nullptr, &ElementwiseCostNs});

}  // namespace cpu
}  // namespace oneflow
