// The kernels of depthwise convolution in float32: each plane by itself, as it lies.
//
// A plane's lines are copied with zeros around them, and taken apart by the stride, so that each
// element of the window is a shift of whole lines. The gradient by the input is the same with the
// window flipped; with another stride than 1 it is left to oneDNN.
#include <algorithm>
#include <cstring>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/cpu/conv/conv_geometry.h"
#include "oneflow/kernels/cpu/conv/depthwise_loops.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/dense_call.h"
#include "oneflow/kernels/cpu/thread_index.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

constexpr int64_t kGrainElements = 1 << 15;

// A correlation of planes (two dimensions), forward or backward.
struct Depthwise {
  int64_t planes, channels;
  int64_t in_h, in_w, out_h, out_w;
  int64_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
  int64_t pad_h, pad_w;
  bool flipped;

  int taps() const { return static_cast<int>(kernel_h * kernel_w); }
  // Results of a line, rounded up.
  int64_t LineLength() const {
    return (out_w + kDepthwiseLanes - 1) / kDepthwiseLanes * kDepthwiseLanes;
  }
  // Of one phase of a line.
  int64_t PhaseLength() const { return LineLength() + (kernel_w - 1) * dilation_w / stride_w + 1; }
  int64_t RowLength() const { return PhaseLength() * stride_w; }
  // A line of zeros, the plane's lines, and one of results.
  size_t ScratchBytes() const {
    const int64_t elements = (in_h + 1) * RowLength() + LineLength();
    return (static_cast<size_t>(elements) * sizeof(float) + 63) / 64 * 64;
  }
};

Depthwise ProblemOf(ConvKind kind, const KernelCall& call) {
  const ConvGeometry g = GeometryOf(kind, call);
  Depthwise p;
  p.planes = g.batch * g.in_channels;
  p.channels = g.in_channels;
  p.kernel_h = g.kernel[1], p.kernel_w = g.kernel[2];
  p.stride_h = g.stride[1], p.stride_w = g.stride[2];
  p.dilation_h = g.dilation[1], p.dilation_w = g.dilation[2];
  p.flipped = kind == ConvKind::kInputGrad;
  const int64_t* in = p.flipped ? g.out : g.in;
  const int64_t* out = p.flipped ? g.in : g.out;
  p.in_h = in[1], p.in_w = in[2];
  p.out_h = out[1], p.out_w = out[2];
  p.pad_h = p.flipped ? (p.kernel_h - 1) * p.dilation_h - g.padding[1] : g.padding[1];
  p.pad_w = p.flipped ? (p.kernel_w - 1) * p.dilation_w - g.padding[2] : g.padding[2];
  return p;
}

// Line `from` with pad_w zeros before it, taken apart: phase p holds elements p, p + stride, ...
void SpreadLine(const Depthwise& p, const float* from, float* to) {
  const int64_t length = p.PhaseLength();
  if (p.stride_w == 1) {
    const int64_t n = std::clamp<int64_t>(length - p.pad_w, 0, p.in_w);
    std::memset(to, 0, sizeof(float) * static_cast<size_t>(std::min(p.pad_w, length)));
    std::memcpy(to + p.pad_w, from, sizeof(float) * static_cast<size_t>(n));
    for (int64_t i = p.pad_w + n; i < length; ++i) { to[i] = 0; }
    return;
  }
  for (int64_t phase = 0; phase < p.stride_w; ++phase, to += length) {
    // Source of element i: i * stride + phase - pad.
    const int64_t shift = phase - p.pad_w;
    const int64_t first = std::clamp<int64_t>((-shift + p.stride_w - 1) / p.stride_w, 0, length);
    const int64_t last =
        std::clamp<int64_t>((p.in_w - shift + p.stride_w - 1) / p.stride_w, first, length);
    for (int64_t i = 0; i < first; ++i) { to[i] = 0; }
    for (int64_t i = first; i < last; ++i) { to[i] = from[i * p.stride_w + shift]; }
    for (int64_t i = last; i < length; ++i) { to[i] = 0; }
  }
}

void RunPlane(const Depthwise& p, const float* in, const float* weight, float bias, float* out,
              float* scratch) {
  const int64_t row = p.RowLength();
  float* result = scratch + (p.in_h + 1) * row;
  for (int64_t y = 0; y < p.in_h; ++y) { SpreadLine(p, in + y * p.in_w, scratch + (y + 1) * row); }
  float factors[kMaxDepthwiseTaps];
  int64_t offsets[kMaxDepthwiseTaps];
  int64_t columns[kMaxDepthwiseTaps];  // where column j of the window lies in a line
  for (int t = 0; t < p.taps(); ++t) { factors[t] = weight[p.flipped ? p.taps() - 1 - t : t]; }
  for (int64_t j = 0; j < p.kernel_w; ++j) {
    const int64_t column = j * p.dilation_w;
    columns[j] = column % p.stride_w * p.PhaseLength() + column / p.stride_w;
  }
  const int64_t length = p.LineLength();
  const DepthwiseLoops& loops = GetDepthwiseLoops();
  for (int64_t y = 0; y < p.out_h; ++y) {
    int t = 0;
    for (int64_t i = 0; i < p.kernel_h; ++i) {
      const int64_t source = y * p.stride_h - p.pad_h + i * p.dilation_h;
      const int64_t line = source >= 0 && source < p.in_h ? (source + 1) * row : 0;  // 0: zeros
      for (int64_t j = 0; j < p.kernel_w; ++j) { offsets[t++] = line + columns[j]; }
    }
    loops.line(scratch, offsets, factors, p.taps(), bias, length, result);
    std::memcpy(out + y * p.out_w, result, sizeof(float) * static_cast<size_t>(p.out_w));
  }
}

template <ConvKind kind>
Maybe<void> Run(const KernelCall& call) {
  return RunDense(call, [](const KernelCall& dense) -> Maybe<void> {
    const Depthwise p = ProblemOf(kind, dense);
    const float* in = dense.inputs[0].Data<float>();
    const float* weight = dense.inputs[1].Data<float>();
    const float* bias = dense.HasInput(2) ? dense.inputs[2].Data<float>() : nullptr;
    float* out = dense.outputs[0].Data<float>();
    const int64_t work = std::max<int64_t>(1, p.out_h * p.out_w * p.taps() / 4);
    ParallelFor(
        dense.threads, p.planes, std::max<int64_t>(1, kGrainElements / work),
        [&](int64_t begin, int64_t end) {
          auto* scratch =
              reinterpret_cast<float*>(static_cast<char*>(dense.scratch) +
                                       p.ScratchBytes() * static_cast<size_t>(ThreadIndex()));
          std::memset(scratch, 0, sizeof(float) * static_cast<size_t>(p.RowLength()));
          for (int64_t plane = begin; plane < end; ++plane) {
            const int64_t c = plane % p.channels;
            RunPlane(p, in + plane * p.in_h * p.in_w, weight + c * p.taps(),
                     bias == nullptr ? 0.0F : bias[c], out + plane * p.out_h * p.out_w, scratch);
          }
        });
    return Ok();
  });
}

template <ConvKind kind>
const char* Accept(const KernelCall& call) {
  const ConvGeometry g = GeometryOf(kind, call);
  if (g.groups == 1 || g.groups != g.in_channels || g.groups != g.out_channels) {
    return "not depthwise";
  }
  const char* refusal = AcceptOneFloatingDtype(call);
  if (refusal != nullptr) { return refusal; }
  if (call.outputs[0].dtype != DataType::kFloat) { return "dtype is not float32"; }
  if (g.spatial == 3 || g.KernelPixels() > kMaxDepthwiseTaps) { return "window too large"; }
  if (g.Empty() || g.stride[2] > 2) { return "nothing to do, or the stride is too long"; }
  const Depthwise p = ProblemOf(kind, call);
  if (p.flipped && (!g.HasUnitStride() || p.pad_h < 0 || p.pad_w < 0)) {
    return "stride is not 1, or there is more padding than window";
  }
  return nullptr;
}

template <ConvKind kind>
size_t Scratch(const KernelCall& call) {
  return DenseCall::ScratchBytes(call) +
         ProblemOf(kind, call).ScratchBytes() * static_cast<size_t>(std::max(call.threads, 1));
}

template <ConvKind kind>
double Cost(const KernelCall& call) {
  return 300.0 + GeometryOf(kind, call).Flops() / 20.0 +
         MemoryCostNs(BytesOf(call.inputs[0]) + BytesOf(call.outputs[0]));
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(convolution, {"convolution.cpu.depthwise", &Run<ConvKind::kForward>,
                                      &Accept<ConvKind::kForward>, &Cost<ConvKind::kForward>,
                                      &Scratch<ConvKind::kForward>});
ONEFLOW_REGISTER_KERNEL(convolution_input_grad,
                        {"convolution_input_grad.cpu.depthwise", &Run<ConvKind::kInputGrad>,
                         &Accept<ConvKind::kInputGrad>, &Cost<ConvKind::kInputGrad>,
                         &Scratch<ConvKind::kInputGrad>});

}  // namespace cpu
}  // namespace oneflow
