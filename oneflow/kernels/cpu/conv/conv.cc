// The kernels convolution, convolution_input_grad and convolution_weight_grad by oneDNN, and for pointwise ones of bfloat16
// by products of our own.
#include <algorithm>

#include "oneflow/core/shape.h"
#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/cpu/conv/conv_fill.h"
#include "oneflow/kernels/cpu/conv/conv_gemm.h"
#include "oneflow/kernels/cpu/conv/conv_geometry.h"
#include "oneflow/kernels/cpu/conv/onednn_conv.h"
#include "oneflow/kernels/cpu/conv/pointwise_dots.h"
#include "oneflow/kernels/cpu/conv/pointwise_weights.h"
#include "oneflow/kernels/cpu/conv/sampled_pixels.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/dense_call.h"
#include "oneflow/kernels/cpu/onednn_objects.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

// Below this many floating-point operations, calling oneDNN costs more than the own loops.
constexpr double kMinOnednnFlops = 20e3;

// A bias that is added to a result which was rounded to bfloat16 already would round it twice.
DensePolicy PolicyOf(ConvKind kind, const KernelCall& call) {
  DensePolicy policy;
  const bool adds_bias = kind == ConvKind::kInputGrad && call.HasInput(2);
  policy.keeps_bfloat16 = onednn::HasBfloat16() && !adds_bias;
  policy.keeps_layout = [](const ArrayView& view) {
    return view.ndim > 2 && LayoutOf(view) != ConvLayout::kOther;
  };
  return policy;
}

// `call` as DenseCall leaves it, without looking at its data.
ConvProblem ProblemOf(ConvKind kind, const KernelCall& call) {
  const ConvOperands at = OperandsOf(kind, call);
  const DensePolicy policy = PolicyOf(kind, call);
  const auto layout = [](const ArrayView& view) {
    const ConvLayout found = LayoutOf(view);
    return found == ConvLayout::kOther ? ConvLayout::kPlain : found;
  };
  ConvProblem p;
  p.kind = kind;
  p.geometry = GeometryOf(kind, call);
  const bool keeps = at.src->dtype == DataType::kBFloat16 && policy.keeps_bfloat16;
  p.dtype = keeps ? DataType::kBFloat16 : DataType::kFloat;
  // What is widened becomes plain, too.
  const bool widens = at.src->dtype != p.dtype;
  p.src = widens ? ConvLayout::kPlain : layout(*at.src);
  p.weight = widens ? ConvLayout::kPlain : layout(*at.weight);
  p.dst = widens ? ConvLayout::kPlain : layout(*at.dst);
  p.has_bias = kind == ConvKind::kForward && at.bias != nullptr;
  p.threads = call.threads;
  return p;
}

template <ConvKind kind>
const char* Accept(const KernelCall& call) {
  const char* refusal = AcceptOneFloatingDtype(call);
  if (refusal != nullptr) { return refusal; }
  if (call.outputs[0].dtype == DataType::kDouble) { return "dtype is float64"; }
  const ConvGeometry geometry = GeometryOf(kind, call);
  if (!geometry.Has31Bits()) { return "too large"; }
  return geometry.Flops() < kMinOnednnFlops ? "too small" : nullptr;
}

// What computes, of the problem itself or of the same over the pixels that it reads: products of our own, or oneDNN.
struct Inner {
  ConvProblem problem{};
  bool dots = false, weight_dots = false;
  OnednnConv* conv = nullptr;  // nullptr: oneDNN refuses
  size_t sample_bytes = 0;     // 0: the problem itself

  bool Serves() const { return dots || weight_dots || conv != nullptr; }
  size_t ScratchBytes() const {
    if (dots) { return sample_bytes + PointwiseDotsScratchBytes(problem); }
    if (weight_dots) { return sample_bytes + PointwiseWeightsScratchBytes(problem); }
    return sample_bytes + OnednnConvScratchBytes(*conv);
  }
};

Inner InnerOf(const ConvProblem& p) {
  Inner inner;
  inner.problem = p;
  if (ReadsSampledPixels(p)) {
    inner.problem = OverSampledPixels(p);
    inner.sample_bytes = SampledPixelBytes(p);
  }
  inner.dots = IsPointwiseDots(inner.problem);
  inner.weight_dots = IsPointwiseWeights(inner.problem);
  if (!inner.dots && !inner.weight_dots) { inner.conv = FindOnednnConv(inner.problem); }
  return inner;
}

template <ConvKind kind>
size_t Scratch(const KernelCall& call) {
  const ConvProblem p = ProblemOf(kind, call);
  if (p.geometry.Empty()) { return DenseCall::ScratchBytes(call, PolicyOf(kind, call)); }
  const Inner inner = InnerOf(p);
  if (!inner.Serves()) { return ConvGemmScratch(kind, call); }
  return DenseCall::ScratchBytes(call, PolicyOf(kind, call)) + inner.ScratchBytes();
}

Maybe<void> ExecuteInner(const Inner& inner, const ConvPointers& at, void* scratch) {
  if (inner.conv != nullptr) { return ExecuteOnednnConv(inner.conv, at, scratch); }
  if (inner.dots) {
    RunPointwiseDots(inner.problem, at, scratch);
  } else {
    RunPointwiseWeights(inner.problem, at, scratch);
  }
  return Ok();
}

Maybe<void> Execute(const ConvProblem& p, const Inner& inner, ConvPointers at, void* scratch) {
  if (inner.sample_bytes == 0) { return ExecuteInner(inner, at, scratch); }
  void* src = at.src;
  at.src = scratch;
  if (p.kind != ConvKind::kInputGrad) { SamplePixels(p, src, scratch); }
  JUST(ExecuteInner(inner, at, static_cast<char*>(scratch) + inner.sample_bytes));
  if (p.kind == ConvKind::kInputGrad) { SpreadSamples(p, scratch, src); }
  return Ok();
}

template <ConvKind kind>
Maybe<void> Run(const KernelCall& call) {
  const ConvProblem p = ProblemOf(kind, call);
  const Inner inner = p.geometry.Empty() ? Inner() : InnerOf(p);
  if (!inner.Serves() && !p.geometry.Empty()) { return RunConvGemm(kind, call); }
  return RunDense(
      call,
      [&](const KernelCall& dense) -> Maybe<void> {
        const ConvOperands at = OperandsOf(kind, dense);
        if (!inner.Serves()) {
          FillWithBias(dense.outputs[0], at.bias);
          return Ok();
        }
        void* bias = at.bias == nullptr ? nullptr : at.bias->data;
        JUST(Execute(p, inner, {at.src->data, at.weight->data, at.dst->data, bias}, dense.scratch));
        if (kind == ConvKind::kInputGrad && at.bias != nullptr) {
          AddBias(dense.outputs[0], *at.bias, dense.threads);
        }
        return Ok();
      },
      PolicyOf(kind, call));
}

// oneDNN reaches about 100 floating-point operations in a nanosecond.
template <ConvKind kind>
double Cost(const KernelCall& call) {
  const ConvOperands at = OperandsOf(kind, call);
  const double bytes = BytesOf(*at.src) + BytesOf(*at.weight) + BytesOf(*at.dst);
  return 3000.0 + GeometryOf(kind, call).Flops() / 100.0 + 3 * MemoryCostNs(bytes);
}

}  // namespace

#define ONEFLOW_REGISTER_CONV(id, kind)                                                          \
  ONEFLOW_REGISTER_KERNEL(id, {#id ".cpu.onednn", &Run<ConvKind::kind>, &Accept<ConvKind::kind>, \
                               &Cost<ConvKind::kind>, &Scratch<ConvKind::kind>})

ONEFLOW_REGISTER_CONV(convolution, kForward);
ONEFLOW_REGISTER_CONV(convolution_input_grad, kInputGrad);
ONEFLOW_REGISTER_CONV(convolution_weight_grad, kWeightGrad);

}  // namespace cpu
}  // namespace oneflow
