// The kernels blocked_convolution, blocked_convolution_input_grad and blocked_convolution_weight_grad by oneDNN, whose
// AVX-512 kernels take channels in blocks of 16 as they are; and block_channels and unblock_channels.
//
// Weights lie in oneDNN's order for the forward kernel, (O / 16, C / 16, H, W, 16, 16), or are plain: then that
// order is made at each call, right before it is read. So is the order for the gradient by input, always. A source of few
// channels (a picture) may be plain, too. Activations are float32 or bfloat16; beside the latter a weight may be
// float32, and is rounded as it is brought into order.
#include <algorithm>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/cpu/conv/blocked_shapes.h"
#include "oneflow/kernels/cpu/conv/conv_geometry.h"
#include "oneflow/kernels/cpu/conv/onednn_conv.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/isa.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

ConvProblem ProblemOf(ConvKind kind, const KernelCall& call) {
  const BlockedCall plain(call);
  const ConvOperands at = OperandsOf(kind, call);
  ConvProblem p;
  p.kind = kind;
  p.geometry = GeometryOf(kind, plain.call());
  p.dtype = at.src->dtype;
  p.src = IsBlocked(*at.src) ? ConvLayout::kBlocked : ConvLayout::kPlain;
  p.weight = IsBlocked(*at.weight) ? ConvLayout::kBlocked : ConvLayout::kPlain;
  p.dst = ConvLayout::kBlocked;
  p.has_bias = false;
  p.threads = call.threads;
  p.float_weight = p.dtype == DataType::kBFloat16 && at.weight->dtype == DataType::kFloat;
  return p;
}

template <ConvKind kind>
const char* Accept(const KernelCall& call) {
  if (BestIsa() != Isa::kAvx512) { return "no AVX-512"; }
  const ConvOperands at = OperandsOf(kind, call);
  const DataType dtype = at.src->dtype;
  if (dtype != DataType::kFloat && dtype != DataType::kBFloat16) {
    return "a dtype that is neither float32 nor bfloat16";
  }
  const bool fits = at.weight->dtype == dtype || at.weight->dtype == DataType::kFloat;
  if (at.dst->dtype != dtype || !fits) { return "dtypes that do not go together"; }
  for (const ArrayView* view : {at.src, at.weight, at.dst}) {
    if (!view->contiguous) { return "an operand that is not dense"; }
  }
  const ConvProblem p = ProblemOf(kind, call);
  if (!p.geometry.Has31Bits()) { return "too large"; }
  if (p.geometry.Empty()) { return "nothing to compute"; }
  return HasOnednnConv(p) ? nullptr : "oneDNN has no fast kernel";
}

template <ConvKind kind>
size_t Scratch(const KernelCall& call) {
  const OnednnConv* conv = FindOnednnConv(ProblemOf(kind, call));
  return conv == nullptr ? 0 : OnednnConvScratchBytes(*conv);
}

template <ConvKind kind>
Maybe<void> Run(const KernelCall& call) {
  OnednnConv* conv = FindOnednnConv(ProblemOf(kind, call));
  CHECK_OR_RETURN(conv != nullptr, "[convolution] oneDNN refuses what it accepted");
  const ConvOperands at = OperandsOf(kind, call);
  return ExecuteOnednnConv(conv, {at.src->data, at.weight->data, at.dst->data, nullptr},
                           call.scratch);
}

// oneDNN reaches about 100 floating-point operations in a nanosecond.
template <ConvKind kind>
double Cost(const KernelCall& call) {
  const ConvOperands at = OperandsOf(kind, call);
  const double bytes = BytesOf(*at.src) + 3 * BytesOf(*at.weight) + BytesOf(*at.dst);
  return 3000.0 + ProblemOf(kind, call).geometry.Flops() / 100.0 + MemoryCostNs(bytes);
}

// ---- between plain arrays and blocks ------------------------------------------------------------

// Pixels of one block that are moved at a time: both sides of them fit the first-level cache.
constexpr int64_t kPixels = 128;

template <bool kToBlocks, typename T>
void MovePixels(const T* from, T* to, int64_t plane, int64_t count) {
  if (kToBlocks) {
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t c = 0; c < kChannelBlock; ++c) {
        to[i * kChannelBlock + c] = from[c * plane + i];
      }
    }
    return;
  }
  for (int64_t c = 0; c < kChannelBlock; ++c) {
    for (int64_t i = 0; i < count; ++i) { to[c * plane + i] = from[i * kChannelBlock + c]; }
  }
}

// T: a type of the elements' size.
template <bool kToBlocks, typename T>
void MoveAs(const KernelCall& call) {
  const ArrayView& blocked = kToBlocks ? call.outputs[0] : call.inputs[0];
  const int64_t plane = blocked.shape[2] * blocked.shape[3];
  const int64_t blocks = blocked.shape[0] * blocked.shape[1];
  const int64_t tiles = (plane + kPixels - 1) / kPixels;
  const T* from = call.inputs[0].Data<T>();
  T* to = call.outputs[0].Data<T>();
  ParallelFor(call.threads, blocks * tiles, 1, [&](int64_t item, int64_t) {
    const int64_t base = item / tiles * plane * kChannelBlock;
    const int64_t first = item % tiles * kPixels;
    const int64_t in_blocks = base + first * kChannelBlock;
    const int64_t in_planes = base + first;
    MovePixels<kToBlocks>(from + (kToBlocks ? in_planes : in_blocks),
                          to + (kToBlocks ? in_blocks : in_planes), plane,
                          std::min(kPixels, plane - first));
  });
}

template <bool kToBlocks>
Maybe<void> Move(const KernelCall& call) {
  const bool brief = call.inputs[0].dtype == DataType::kBFloat16;
  brief ? MoveAs<kToBlocks, uint16_t>(call) : MoveAs<kToBlocks, float>(call);
  return Ok();
}

const char* AcceptMove(const KernelCall& call) {
  const DataType dtype = call.inputs[0].dtype;
  if (dtype != DataType::kFloat && dtype != DataType::kBFloat16) {
    return "a dtype that is neither float32 nor bfloat16";
  }
  const bool dense = call.inputs[0].contiguous && call.outputs[0].contiguous;
  return dense ? nullptr : "an operand that is not dense";
}

double MoveCost(const KernelCall& call) { return 100.0 + 2 * ElementwiseCostNs(call); }

}  // namespace

#define ONEFLOW_REGISTER_CONV(id, kind)                                                          \
  ONEFLOW_REGISTER_KERNEL(id, {#id ".cpu.onednn", &Run<ConvKind::kind>, &Accept<ConvKind::kind>, \
                               &Cost<ConvKind::kind>, &Scratch<ConvKind::kind>})

ONEFLOW_REGISTER_CONV(blocked_convolution, kForward);
ONEFLOW_REGISTER_CONV(blocked_convolution_input_grad, kInputGrad);
ONEFLOW_REGISTER_CONV(blocked_convolution_weight_grad, kWeightGrad);
ONEFLOW_REGISTER_KERNEL(block_channels,
                        {"block_channels.cpu.vector", &Move<true>, &AcceptMove, &MoveCost});
ONEFLOW_REGISTER_KERNEL(unblock_channels,
                        {"unblock_channels.cpu.vector", &Move<false>, &AcceptMove, &MoveCost});

}  // namespace cpu
}  // namespace oneflow
