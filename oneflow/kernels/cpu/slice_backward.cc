// The kernel slice_backward: zeros, with dy at every step-th index of one dim.
#include <cstring>

#include "oneflow/core/shape.h"
#include "oneflow/kernels/attrs.h"
#include "oneflow/kernels/cpu/copy.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

const char* Accept(const KernelCall& call) {
  if (call.outputs[0].dtype != call.inputs[0].dtype) { return "an output of another dtype"; }
  return call.outputs[0].contiguous ? nullptr : "output is not dense";
}

Maybe<void> Run(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<SliceBackwardAttrs>();
  const ArrayView& dy = call.inputs[0];
  const ArrayView& dx = call.outputs[0];
  const auto size = static_cast<int64_t>(SizeOf(dx.dtype));
  if (dx.Count() == 0) { return Ok(); }
  std::memset(dx.data, 0, static_cast<size_t>(dx.Count() * size));
  if (dy.Count() == 0) { return Ok(); }
  Strides strides(dx.strides, dx.ndim);
  const int dim = static_cast<int>(attrs.dim);
  ArrayView part = dx;
  part.data = dx.Data<char>() + attrs.start * strides[dim] * size;
  strides[dim] *= attrs.step;
  part.shape = dy.shape;
  part.strides = strides.data();
  part.contiguous = false;
  CopyArray(part, dy, call.threads);
  return Ok();
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(slice_backward,
                        {"slice_backward.cpu.reference", &Run, &Accept, &ElementwiseCostNs});

}  // namespace cpu
}  // namespace oneflow
