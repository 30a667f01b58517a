// The kernels fused_batch_norm, fused_batch_norm_backward and fused_batch_norm_add_backward where channels lie in blocks of
// 16, (N, C / 16, H, W, 16), in float32 or bfloat16; weights, biases and statistics in float32.
//
// A thread works on one block after the other, so that what a block needs is still in the last cache for the next pass
// over it. Sums are cut by the shape alone. Result 0 may be the very array of an operand: a block is read before it is
// written, and at last element by element.
#include <algorithm>
#include <cmath>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs_norm.h"
#include "oneflow/kernels/attrs_spatial.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/norm/block_norm_loops.h"
#include "oneflow/kernels/cpu/norm/fused_operands.h"
#include "oneflow/kernels/cpu/stream_loops.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

constexpr int kLanes = static_cast<int>(kChannelBlock);

// T below: float, or the bits of bfloat16.

template <typename T>
T* At(T* data, int64_t offset) {
  return data == nullptr ? nullptr : data + offset;
}

struct BlockExtents {
  int64_t images, blocks, pixels;

  explicit BlockExtents(const ArrayView& x)
      : images(x.shape[0]), blocks(x.shape[1]), pixels(x.shape[2] * x.shape[3]) {}
  // Where a block of an image begins.
  int64_t At(int64_t image, int64_t block) const {
    return (image * blocks + block) * pixels * kChannelBlock;
  }
  double count() const { return static_cast<double>(images * pixels); }
};

// The moments of one block, from those of stretches (Chan, Golub and LeVeque, "Updating formulae and a pairwise
// algorithm for computing sample variances", 1979).
struct Moments {
  double mean[kLanes] = {};
  double squares[kLanes] = {};
  double count = 0.0;

  template <typename T>
  void Add(const T* x, int64_t pixels) {
    float own_mean[kLanes];
    float own_squares[kLanes];
    GetBlockNormLoops<T>().moments(x, pixels, own_mean, own_squares);
    const auto more = static_cast<double>(pixels);
    const double share = more / (count + more);
    for (int l = 0; l < kLanes; ++l) {
      const double delta = static_cast<double>(own_mean[l]) - mean[l];
      mean[l] += delta * share;
      squares[l] += static_cast<double>(own_squares[l]) + delta * delta * count * share;
    }
    count += more;
  }
};

template <typename T>
Moments MomentsOf(const T* x, const BlockExtents& e, int64_t block) {
  Moments moments;
  for (int64_t image = 0; image < e.images; ++image) {
    const T* from = x + e.At(image, block);
    for (int64_t p = 0; p < e.pixels; p += kBlockStretch) {
      moments.Add(from + p * kChannelBlock, std::min(kBlockStretch, e.pixels - p));
    }
  }
  return moments;
}

float ScaleOf(const float* weight, int64_t c, float variance, double epsilon) {
  const double inv_std = 1.0 / std::sqrt(static_cast<double>(variance) + epsilon);
  return static_cast<float>(inv_std * (weight == nullptr ? 1.0 : static_cast<double>(weight[c])));
}

// Calls body(block) for each block, then makes streamed results visible.
template <typename Body>
void ForEachBlock(const KernelCall& call, const BlockExtents& e, bool streams, const Body& body) {
  ParallelFor(call.threads, e.blocks, 1, [&](int64_t block, int64_t) {
    body(block);
    if (streams) { GetStreamLoops().fence(); }
  });
}

// ---- forward: x, [weight], [bias], [addend] -> y, mean, variance --------------------------------

template <typename T>
void Normalize(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<FusedBatchNormAttrs>();
  const BlockExtents e(call.inputs[0]);
  const bool streams = WorthStreamingResult(call);
  const T* x = call.inputs[0].Data<T>();
  const float* weight = DataOf<float>(call, 1);
  const float* bias = DataOf<float>(call, 2);
  T* addend = DataOf<T>(call, 3);
  T* y = call.outputs[0].Data<T>();
  ForEachBlock(call, e, streams, [&](int64_t block) {
    const int64_t first = block * kChannelBlock;
    float* mean = call.outputs[1].Data<float>() + first;
    float* variance = call.outputs[2].Data<float>() + first;
    const Moments moments = MomentsOf(x, e, block);
    float scale[kLanes];
    float shift[kLanes];
    for (int l = 0; l < kLanes; ++l) {
      mean[l] = static_cast<float>(moments.mean[l]);
      variance[l] = static_cast<float>(moments.squares[l] / e.count());
      scale[l] = ScaleOf(weight, first + l, variance[l], attrs.epsilon);
      shift[l] = bias == nullptr ? 0.0F : bias[first + l];
    }
    // Backwards: the last images are still in a cache.
    for (int64_t image = e.images - 1; image >= 0; --image) {
      const int64_t at = e.At(image, block);
      GetBlockNormLoops<T>().run(x + at, At(addend, at), y + at, e.pixels, mean, scale, shift,
                                 attrs.relu, streams);
    }
  });
}

// ---- backward: dy, [more], x, [weight], mean, variance, [y] -> dx, dweight, dbias, [kept] ---------

template <typename T>
void Gradients(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<FusedBatchNormAttrs>();
  const BlockExtents e(call.inputs[2]);
  const bool streams = WorthStreamingResult(call);
  const BlockNormLoops<T>& loops = GetBlockNormLoops<T>();
  const FusedGradient<T> arrives{DataOf<T>(call, 0), DataOf<T>(call, 1), DataOf<T>(call, 6)};
  const T* x = call.inputs[2].Data<T>();
  const float* weight = DataOf<float>(call, 3);
  T* dx = call.outputs[0].Data<T>();
  T* kept = call.num_outputs > 3 ? call.outputs[3].Data<T>() : nullptr;
  const FusedGradient<T> gradient = kept == nullptr ? arrives : FusedGradient<T>{kept};
  ForEachBlock(call, e, streams, [&](int64_t block) {
    const int64_t first = block * kChannelBlock;
    const float* mean = call.inputs[4].Data<float>() + first;
    const float* variance = call.inputs[5].Data<float>() + first;
    double sum_g[kLanes] = {};
    double sum_gx[kLanes] = {};
    for (int64_t image = 0; image < e.images; ++image) {
      const int64_t at = e.At(image, block);
      loops.sums(arrives.At(at), x + at, At(kept, at), e.pixels, mean, sum_g, sum_gx);
    }
    float m[kLanes];
    float k[kLanes];
    float scale[kLanes];
    for (int l = 0; l < kLanes; ++l) {
      const double inv_std = 1.0 / std::sqrt(static_cast<double>(variance[l]) + attrs.epsilon);
      call.outputs[1].Data<float>()[first + l] = static_cast<float>(sum_gx[l] * inv_std);
      call.outputs[2].Data<float>()[first + l] = static_cast<float>(sum_g[l]);
      m[l] = static_cast<float>(sum_g[l] / e.count());
      k[l] = static_cast<float>(sum_gx[l] * inv_std * inv_std / e.count());
      scale[l] = ScaleOf(weight, first + l, variance[l], attrs.epsilon);
    }
    for (int64_t image = e.images - 1; image >= 0; --image) {
      const int64_t at = e.At(image, block);
      loops.backward(gradient.At(at), x + at, dx + at, e.pixels, mean, m, k, scale, streams);
    }
  });
}

Maybe<void> Run(const KernelCall& call) {
  call.inputs[0].dtype == DataType::kFloat ? Normalize<float>(call) : Normalize<uint16_t>(call);
  return Ok();
}

Maybe<void> RunBackward(const KernelCall& call) {
  call.inputs[0].dtype == DataType::kFloat ? Gradients<float>(call) : Gradients<uint16_t>(call);
  return Ok();
}

const char* AcceptView(const ArrayView& view, DataType activations) {
  if (!view.given) { return nullptr; }
  if (!view.contiguous) { return "an operand that is not dense"; }
  const bool fits = view.ndim == 5 ? view.dtype == activations : view.dtype == DataType::kFloat;
  return fits ? nullptr : "other dtypes than activations of one and float32";
}

const char* Accept(const KernelCall& call) {
  if (!call.GetAttrs<FusedBatchNormAttrs>().blocked) { return "channels that are not in blocks"; }
  const DataType dtype = call.inputs[0].dtype;
  if (dtype != DataType::kFloat && dtype != DataType::kBFloat16) {
    return "a dtype that is neither float32 nor bfloat16";
  }
  for (int i = 0; i < call.num_inputs; ++i) {
    if (const char* reason = AcceptView(call.inputs[i], dtype)) { return reason; }
  }
  for (int i = 0; i < call.num_outputs; ++i) {
    if (const char* reason = AcceptView(call.outputs[i], dtype)) { return reason; }
  }
  return nullptr;
}

double Cost(const KernelCall& call) {
  return ElementwiseCostNs(call) + 0.2 * static_cast<double>(call.outputs[0].Count());
}

}  // namespace

#define ONEFLOW_REGISTER_BLOCKS(id, run) \
  ONEFLOW_REGISTER_KERNEL(id, {#id ".cpu.blocked", &run, &Accept, &Cost})

ONEFLOW_REGISTER_BLOCKS(fused_batch_norm, Run);
ONEFLOW_REGISTER_BLOCKS(fused_batch_norm_backward, RunBackward);
ONEFLOW_REGISTER_BLOCKS(fused_batch_norm_add_backward, RunBackward);

}  // namespace cpu
}  // namespace oneflow
