// The kernels diagonal_backward and unfold_tensor_backward: zeros, to a part of which the operand goes.
#include <cstring>

#include "oneflow/core/dims.h"
#include "oneflow/core/shape.h"
#include "oneflow/kernels/attrs_shape.h"
#include "oneflow/kernels/cpu/copy.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/reference.h"
#include "oneflow/kernels/cpu/strided_loop.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

const char* Accept(const KernelCall& call) {
  if (call.outputs[0].dtype != call.inputs[0].dtype) { return "an output of another dtype"; }
  return call.outputs[0].contiguous ? nullptr : "output is not dense";
}

void Clear(const ArrayView& out) {
  std::memset(out.data, 0, static_cast<size_t>(out.Count()) * SizeOf(out.dtype));
}

Maybe<void> RunDiagonal(const KernelCall& call) {
  const DiagonalAttrs& attrs = call.GetAttrs<DiagonalBackwardAttrs>().diagonal;
  const ArrayView& dy = call.inputs[0];
  const ArrayView& dx = call.outputs[0];
  if (dx.Count() == 0) { return Ok(); }
  Clear(dx);
  if (dy.Count() == 0) { return Ok(); }
  const auto size = static_cast<int64_t>(SizeOf(dx.dtype));
  const int first = static_cast<int>(attrs.dim1);
  const int second = static_cast<int>(attrs.dim2);
  const int64_t start =
      attrs.offset >= 0 ? attrs.offset * dx.strides[second] : -attrs.offset * dx.strides[first];
  Strides strides;
  for (int d = 0; d < dx.ndim; ++d) {
    if (d != first && d != second) { strides.PushBack(dx.strides[d]); }
  }
  strides.PushBack(dx.strides[first] + dx.strides[second]);
  ArrayView part = dy;
  part.data = dx.Data<char>() + start * size;
  part.strides = strides.data();
  part.contiguous = false;
  CopyArray(part, dy, call.threads);
  return Ok();
}

template <typename T>
void AddBody(const LoopRun& run, const void*) {
  for (int64_t i = 0; i < run.n; ++i) {
    *reinterpret_cast<T*>(run.data[0] + i * run.strides[0]) +=
        *reinterpret_cast<const T*>(run.data[1] + i * run.strides[1]);
  }
}

void AddByReference(const ArrayView& to, const ArrayView& from) {
  reference::ForEachIndex(reference::ShapeOf(to), [&](const Dims& index) {
    const int64_t at = reference::OffsetOf(to, index);
    const double sum = reference::Load(to, at).AsDouble() +
                       reference::Load(from, reference::OffsetOf(from, index)).AsDouble();
    reference::Store(to, at, reference::Value::Float(sum));
  });
}

// Windows of one position within them never overlap: to += from, element by element.
void AddArray(const ArrayView& to, const ArrayView& from, int threads) {
  const ArrayView* operands[] = {&to, &from};
  switch (to.dtype) {
    case DataType::kFloat: return StridedLoop(operands, 2).Run(threads, &AddBody<float>, nullptr);
    case DataType::kDouble: return StridedLoop(operands, 2).Run(threads, &AddBody<double>, nullptr);
    case DataType::kInt64: return StridedLoop(operands, 2).Run(threads, &AddBody<int64_t>, nullptr);
    default: return AddByReference(to, from);
  }
}

Maybe<void> RunUnfold(const KernelCall& call) {
  const UnfoldTensorAttrs& attrs = call.GetAttrs<UnfoldTensorBackwardAttrs>().window;
  const ArrayView& dy = call.inputs[0];
  const ArrayView& dx = call.outputs[0];
  if (dx.Count() == 0) { return Ok(); }
  Clear(dx);
  if (dy.Count() == 0) { return Ok(); }
  const auto size = static_cast<int64_t>(SizeOf(dx.dtype));
  if (dx.ndim == 0) {
    std::memcpy(dx.data, dy.data, static_cast<size_t>(size));
    return Ok();
  }
  const int dim = static_cast<int>(attrs.dim);
  Strides strides(dx.strides, dx.ndim);
  strides[dim] *= attrs.step;
  for (int64_t k = 0; k < attrs.size; ++k) {
    ArrayView to = dx;
    to.data = dx.Data<char>() + k * dx.strides[dim] * size;
    to.shape = dy.shape;
    to.strides = strides.data();
    to.contiguous = false;
    ArrayView from = dy;
    from.data = dy.Data<char>() + k * dy.strides[dy.ndim - 1] * size;
    from.ndim = dy.ndim - 1;
    from.contiguous = false;
    AddArray(to, from, call.threads);
  }
  return Ok();
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(diagonal_backward,
                        {"diagonal_backward.cpu.copy", &RunDiagonal, &Accept, &ElementwiseCostNs});
ONEFLOW_REGISTER_KERNEL(unfold_tensor_backward, {"unfold_tensor_backward.cpu.add", &RunUnfold,
                                                 &Accept, &ElementwiseCostNs});

}  // namespace cpu
}  // namespace oneflow
