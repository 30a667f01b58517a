// The reference kernels of convolution and its gradients: the sum as it is written, in double.
#include <cstdint>
#include <vector>

#include "oneflow/kernels/cpu/conv/conv_geometry.h"
#include "oneflow/kernels/cpu/reference.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

using reference::ForEachIndex;
using reference::Load;
using reference::Store;
using reference::Value;

// Offset of (a, b, spatial...), where `pixel` has three entries.
int64_t OffsetIn(const ArrayView& view, int64_t a, int64_t b, const int64_t* pixel) {
  int64_t offset = a * view.strides[0] + b * view.strides[1];
  const int lead = 3 - (view.ndim - 2);
  for (int d = lead; d < 3; ++d) { offset += pixel[d] * view.strides[d - lead + 2]; }
  return offset;
}

// One product of the sum: which element of each operand.
struct Term {
  int64_t src, weight, dst;
};

template <typename Body>
void ForEachTerm(const ConvGeometry& g, const ConvOperands& at, const Body& body) {
  const Dims outer{g.batch, g.out_channels, g.InPerGroup()};
  const Dims inner{g.out[0], g.out[1], g.out[2], g.kernel[0], g.kernel[1], g.kernel[2]};
  ForEachIndex(outer, [&](const Dims& i) {
    const int64_t group = i[1] / g.OutPerGroup();
    ForEachIndex(inner, [&](const Dims& j) {
      int64_t pixel[3];
      for (int d = 0; d < 3; ++d) {
        pixel[d] = j[d] * g.stride[d] - g.padding[d] + j[d + 3] * g.dilation[d];
        if (pixel[d] < 0 || pixel[d] >= g.in[d]) { return; }
      }
      body(Term{OffsetIn(*at.src, i[0], group * g.InPerGroup() + i[2], pixel),
                OffsetIn(*at.weight, i[1], i[2], j.data() + 3),
                OffsetIn(*at.dst, i[0], i[1], j.data())});
    });
  });
}

// The result is dense: offsets count its elements.
template <ConvKind kind>
Maybe<void> Run(const KernelCall& call) {
  const ConvOperands at = OperandsOf(kind, call);
  const ConvGeometry g = GeometryOf(kind, call);
  const ArrayView& out = call.outputs[0];
  std::vector<double> sums(static_cast<size_t>(out.Count()), 0.0);
  if (!g.Empty()) {
    ForEachTerm(g, at, [&](const Term& t) {
      const double src = kind == ConvKind::kInputGrad ? 0 : Load(*at.src, t.src).AsDouble();
      const double weight =
          kind == ConvKind::kWeightGrad ? 0 : Load(*at.weight, t.weight).AsDouble();
      const double dst = kind == ConvKind::kForward ? 0 : Load(*at.dst, t.dst).AsDouble();
      switch (kind) {
        case ConvKind::kForward: sums[static_cast<size_t>(t.dst)] += src * weight; break;
        case ConvKind::kInputGrad: sums[static_cast<size_t>(t.src)] += dst * weight; break;
        case ConvKind::kWeightGrad: sums[static_cast<size_t>(t.weight)] += dst * src; break;
      }
    });
  }
  const int64_t plane = out.Count() / std::max<int64_t>(1, out.shape[0] * out.shape[1]);
  for (int64_t i = 0; i < out.Count(); ++i) {
    double sum = sums[static_cast<size_t>(i)];
    if (at.bias != nullptr) {
      sum += Load(*at.bias, i / plane % out.shape[1] * at.bias->strides[0]).AsDouble();
    }
    Store(out, i, Value::Float(sum));
  }
  return Ok();
}

const char* Accept(const KernelCall& call) {
  return call.outputs[0].contiguous ? nullptr : "output is not dense";
}

template <ConvKind kind>
double Cost(const KernelCall& call) {
  return GeometryOf(kind, call).Flops() * 10.0;
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(convolution, {"convolution.cpu.reference", &Run<ConvKind::kForward>,
                                      &Accept, &Cost<ConvKind::kForward>});
ONEFLOW_REGISTER_KERNEL(convolution_input_grad,
                        {"convolution_input_grad.cpu.reference", &Run<ConvKind::kInputGrad>,
                         &Accept, &Cost<ConvKind::kInputGrad>});
ONEFLOW_REGISTER_KERNEL(convolution_weight_grad,
                        {"convolution_weight_grad.cpu.reference", &Run<ConvKind::kWeightGrad>,
                         &Accept, &Cost<ConvKind::kWeightGrad>});

}  // namespace cpu
}  // namespace oneflow
