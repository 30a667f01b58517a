#include "oneflow/kernels/cpu/conv/conv_geometry.h"

#include <algorithm>

namespace oneflow {
namespace cpu {

const char* ConvName(ConvKind kind) {
  switch (kind) {
    case ConvKind::kForward: return "convolution";
    case ConvKind::kInputGrad: return "convolution_input_grad";
    case ConvKind::kWeightGrad: return "convolution_weight_grad";
  }
  return "convolution";
}

ConvOperands OperandsOf(ConvKind kind, const KernelCall& call) {
  const ArrayView* in = call.inputs;
  const ArrayView* out = call.outputs;
  const ArrayView* bias = kind != ConvKind::kWeightGrad && call.HasInput(2) ? in + 2 : nullptr;
  switch (kind) {
    case ConvKind::kForward: return {in, in + 1, out, bias};
    case ConvKind::kInputGrad: return {out, in + 1, in, bias};
    case ConvKind::kWeightGrad: break;
  }
  return {in + 1, out, in, nullptr};
}

bool ConvGeometry::Empty() const {
  return batch == 0 || in_channels == 0 || out_channels == 0 || InPixels() == 0 ||
         OutPixels() == 0 || KernelPixels() == 0;
}

double ConvGeometry::Flops() const {
  return 2.0 * static_cast<double>(batch) * static_cast<double>(out_channels) *
         static_cast<double>(OutPixels()) * static_cast<double>(ColumnRows());
}

bool ConvGeometry::IsPointwise() const {
  if (KernelPixels() != 1) { return false; }
  for (int d = 0; d < 3; ++d) {
    if (padding[d] != 0 || (out[d] - 1) * stride[d] >= in[d]) { return false; }
  }
  return true;
}

bool ConvGeometry::Has31Bits() const {
  constexpr int64_t kMost = INT32_MAX;
  int64_t most = std::max({batch, in_channels, out_channels});
  for (int d = 0; d < 3; ++d) {
    most = std::max({most, in[d], out[d], kernel[d], stride[d], padding[d], dilation[d]});
    most = std::max(most, in[d] + 2 * padding[d]);
  }
  return most <= kMost;
}

ConvGeometry GeometryOf(ConvKind kind, const KernelCall& call) {
  const ConvOperands at = OperandsOf(kind, call);
  const auto& attrs = call.GetAttrs<ConvAttrs>();
  ConvGeometry g;
  g.spatial = at.src->ndim - 2;
  g.batch = at.src->shape[0];
  g.groups = attrs.groups;
  g.in_channels = at.src->shape[1];
  g.out_channels = at.dst->shape[1];
  const int lead = 3 - g.spatial;
  for (int d = 0; d < 3; ++d) {
    const bool real = d >= lead;
    const int s = d - lead;
    g.in[d] = real ? at.src->shape[s + 2] : 1;
    g.out[d] = real ? at.dst->shape[s + 2] : 1;
    g.kernel[d] = real ? at.weight->shape[s + 2] : 1;
    g.padding[d] = real ? attrs.padding[s] : 0;
    // Numbers that mean nothing are small: strides beyond a single window, dilations of one element.
    const int64_t beyond = g.in[d] + g.padding[d] + 1;
    g.stride[d] = !real ? 1 : g.out[d] == 1 ? std::min(attrs.stride[s], beyond) : attrs.stride[s];
    g.dilation[d] = real && g.kernel[d] > 1 ? attrs.dilation[s] : 1;
  }
  return g;
}

namespace {

// Whether strides are those of a dense array whose dimensions follow `order`, outermost first.
// Dimensions of size 1 may have any stride.
bool DenseInOrder(const ArrayView& view, const int* order) {
  int64_t expected = 1;
  for (int i = view.ndim - 1; i >= 0; --i) {
    const int d = order[i];
    if (view.shape[d] != 1 && view.strides[d] != expected) { return false; }
    expected *= view.shape[d];
  }
  return true;
}

}  // namespace

ConvLayout LayoutOf(const ArrayView& view) {
  int order[kMaxDims];
  for (int i = 0; i < view.ndim; ++i) { order[i] = i; }
  if (view.contiguous || DenseInOrder(view, order)) { return ConvLayout::kPlain; }
  for (int i = 1; i + 1 < view.ndim; ++i) { order[i] = i + 1; }
  order[view.ndim - 1] = 1;
  return DenseInOrder(view, order) ? ConvLayout::kChannelsLast : ConvLayout::kOther;
}

}  // namespace cpu
}  // namespace oneflow
