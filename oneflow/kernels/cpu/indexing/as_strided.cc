// The kernel as_strided_backward: dy -> dx. Elements of the view that lie in one place are added up.
// Every place of the storage that the view or the tensor reaches has an element of the scratch.
#include <algorithm>
#include <cstring>

#include "oneflow/core/dims.h"
#include "oneflow/core/shape.h"
#include "oneflow/kernels/attrs_indexing.h"
#include "oneflow/kernels/cpu/copy.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/reference.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

struct Span {
  int64_t begin;  // in elements of the storage
  int64_t end;
};

Span SpanOf(const IntList& size, const IntList& stride, int64_t offset) {
  int64_t last = offset;
  for (int d = 0; d < size.count; ++d) {
    if (size.values[d] == 0) { return {offset, offset}; }
    last += (size.values[d] - 1) * stride.values[d];
  }
  return {offset, last + 1};
}

Span BothSpans(const AsStridedAttrs& attrs) {
  const Span view = SpanOf(attrs.size, attrs.stride, attrs.offset);
  const Span input = SpanOf(attrs.input_shape, attrs.input_stride, attrs.input_offset);
  return {std::min(view.begin, input.begin), std::max(view.end, input.end)};
}

int64_t OffsetAt(const Dims& index, const IntList& stride) {
  int64_t offset = 0;
  for (int d = 0; d < index.size(); ++d) { offset += index[d] * stride.values[d]; }
  return offset;
}

Maybe<void> Run(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<AsStridedAttrs>();
  const ArrayView& dy = call.inputs[0];
  const ArrayView& dx = call.outputs[0];
  const Span span = BothSpans(attrs);
  auto* sums = static_cast<double*>(call.scratch);
  std::fill(sums, sums + (span.end - span.begin), 0.0);
  reference::ForEachIndex(reference::ShapeOf(dy), [&](const Dims& index) {
    const int64_t at = attrs.offset - span.begin + OffsetAt(index, attrs.stride);
    sums[at] += reference::Load(dy, reference::OffsetOf(dy, index)).AsDouble();
  });
  reference::ForEachIndex(reference::ShapeOf(dx), [&](const Dims& index) {
    const int64_t at = attrs.input_offset - span.begin + OffsetAt(index, attrs.input_stride);
    const auto value = reference::Value::Float(sums[at]);
    reference::Store(dx, reference::OffsetOf(dx, index), reference::Round(dx.dtype, value));
  });
  return Ok();
}

// Where the tensor is dense and no two elements of the view share a place: zeros, and a copy.
const char* AcceptCopy(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<AsStridedAttrs>();
  const Span view = SpanOf(attrs.size, attrs.stride, attrs.offset);
  const int64_t end = attrs.input_offset + call.outputs[0].Count();
  if (!IsContiguous(attrs.input_shape.ToDims(), attrs.input_stride.ToDims())) {
    return "a tensor that is not dense";
  }
  if (view.begin < attrs.input_offset || view.end > end) { return "a view past the tensor"; }
  if (!call.outputs[0].contiguous) { return "output is not dense"; }
  if (MayOverlap(attrs.size.ToDims(), attrs.stride.ToDims())) { return "elements that overlap"; }
  return call.inputs[0].dtype == call.outputs[0].dtype ? nullptr : "operands of two dtypes";
}

Maybe<void> RunCopy(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<AsStridedAttrs>();
  const ArrayView& dx = call.outputs[0];
  const auto size = static_cast<int64_t>(SizeOf(dx.dtype));
  if (dx.Count() == 0) { return Ok(); }
  std::memset(dx.data, 0, static_cast<size_t>(dx.Count() * size));
  ArrayView part = dx;
  part.data = dx.Data<char>() + (attrs.offset - attrs.input_offset) * size;
  part.shape = attrs.size.values;
  part.strides = attrs.stride.values;
  part.ndim = attrs.size.count;
  part.contiguous = false;
  CopyArray(part, call.inputs[0], call.threads);
  return Ok();
}

double Cost(const KernelCall& call) {
  return 20.0 * static_cast<double>(call.inputs[0].Count() + call.outputs[0].Count());
}

size_t Scratch(const KernelCall& call) {
  const Span span = BothSpans(call.GetAttrs<AsStridedAttrs>());
  return static_cast<size_t>(span.end - span.begin + 1) * sizeof(double);
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(as_strided_copy, {"as_strided_backward.cpu.copy", &RunCopy, &AcceptCopy,
                                          &ElementwiseCostNs});
ONEFLOW_REGISTER_KERNEL(as_strided_backward,
                        {"as_strided_backward.cpu.reference", &Run, nullptr, &Cost, &Scratch});

}  // namespace cpu
}  // namespace oneflow
