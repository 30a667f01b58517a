// The kernels unfold and fold: windows of images as columns, and back.
#include <cstring>

#include "oneflow/kernels/attrs_spatial.h"
#include "oneflow/kernels/cpu/conv/columns.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/dense_call.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

ColumnShape ShapeOf(const UnfoldAttrs& attrs, const ArrayView& images) {
  ColumnShape s;
  s.channels = images.shape[1];
  s.in[0] = s.out[0] = s.kernel[0] = s.stride[0] = s.dilation[0] = 1;
  s.padding[0] = 0;
  for (int d = 0; d < 2; ++d) {
    s.in[d + 1] = images.shape[d + 2];
    s.kernel[d + 1] = attrs.kernel[d];
    s.stride[d + 1] = attrs.stride[d];
    s.padding[d + 1] = attrs.padding[d];
    s.dilation[d + 1] = attrs.dilation[d];
    const int64_t reach = attrs.dilation[d] * (attrs.kernel[d] - 1) + 1;
    s.out[d + 1] = (s.in[d + 1] + 2 * attrs.padding[d] - reach) / attrs.stride[d] + 1;
  }
  return s;
}

template <typename T>
void UnfoldAll(const KernelCall& call) {
  const ColumnShape s = ShapeOf(call.GetAttrs<UnfoldAttrs>(), call.inputs[0]);
  for (int64_t n = 0; n < call.inputs[0].shape[0]; ++n) {
    ImageToColumns(s, call.inputs[0].Data<T>() + n * s.channels * s.InPixels(), 0, s.Lines(),
                   call.outputs[0].Data<T>() + n * s.Rows() * s.OutPixels(), call.threads);
  }
}

template <typename T>
void FoldAll(const KernelCall& call) {
  const ArrayView& images = call.outputs[0];
  const ColumnShape s = ShapeOf(call.GetAttrs<UnfoldAttrs>(), images);
  const int64_t size = s.channels * s.InPixels();
  for (int64_t n = 0; n < images.shape[0]; ++n) {
    T* image = images.Data<T>() + n * size;
    std::memset(image, 0, sizeof(T) * static_cast<size_t>(size));
    AddColumnsToImage(s, call.inputs[0].Data<T>() + n * s.Rows() * s.OutPixels(), 0, s.Lines(),
                      image, call.threads);
  }
}

template <void (*single)(const KernelCall&), void (*wide)(const KernelCall&)>
Maybe<void> Run(const KernelCall& call) {
  return RunDense(call, [](const KernelCall& dense) -> Maybe<void> {
    if (dense.outputs[0].Count() == 0) { return Ok(); }
    dense.outputs[0].dtype == DataType::kDouble ? wide(dense) : single(dense);
    return Ok();
  });
}

double Cost(const KernelCall& call) {
  const double copies = 2 * static_cast<double>(DenseCall::ScratchBytes(call));
  return 50.0 + MemoryCostNs(BytesOf(call.inputs[0]) + BytesOf(call.outputs[0]) + copies);
}

size_t Scratch(const KernelCall& call) { return DenseCall::ScratchBytes(call); }

}  // namespace

ONEFLOW_REGISTER_KERNEL(unfold, {"unfold.cpu.columns", &Run<&UnfoldAll<float>, &UnfoldAll<double>>,
                                 &AcceptOneFloatingDtype, &Cost, &Scratch});
ONEFLOW_REGISTER_KERNEL(fold, {"fold.cpu.columns", &Run<&FoldAll<float>, &FoldAll<double>>,
                               &AcceptOneFloatingDtype, &Cost, &Scratch});

}  // namespace cpu
}  // namespace oneflow
