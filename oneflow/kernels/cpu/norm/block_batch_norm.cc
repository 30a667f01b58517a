#include "oneflow/kernels/cpu/norm/block_batch_norm.h"

#include <algorithm>
#include <cmath>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs_norm.h"
#include "oneflow/kernels/attrs_spatial.h"
#include "oneflow/kernels/cpu/norm/block_norm_loops.h"
#include "oneflow/kernels/cpu/stream_loops.h"

namespace oneflow {
namespace cpu {

namespace {

constexpr int kLanes = static_cast<int>(kChannelBlock);

float* DataOf(const KernelCall& call, int input) {
  return call.HasInput(input) ? call.inputs[input].Data<float>() : nullptr;
}

float* At(float* data, int64_t offset) { return data == nullptr ? nullptr : data + offset; }

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

  void Add(const float* x, int64_t pixels) {
    float own_mean[kLanes];
    float own_squares[kLanes];
    GetBlockNormLoops().moments(x, pixels, own_mean, own_squares);
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

Moments MomentsOf(const float* x, const BlockExtents& e, int64_t block) {
  Moments moments;
  for (int64_t image = 0; image < e.images; ++image) {
    const float* from = x + e.At(image, block);
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

}  // namespace

void NormalizeBlocks(const KernelCall& call, bool streams) {
  const auto& attrs = call.GetAttrs<FusedBatchNormAttrs>();
  const BlockExtents e(call.inputs[0]);
  const float* x = call.inputs[0].Data<float>();
  const float* weight = DataOf(call, 1);
  const float* bias = DataOf(call, 2);
  float* addend = DataOf(call, 3);
  float* y = call.outputs[0].Data<float>();
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
      GetBlockNormLoops().run(x + at, At(addend, at), y + at, e.pixels, mean, scale, shift,
                              attrs.relu, streams);
    }
  });
}

void BlockGradients(const KernelCall& call, bool streams) {
  const auto& attrs = call.GetAttrs<FusedBatchNormAttrs>();
  const BlockExtents e(call.inputs[2]);
  const BlockNormLoops& loops = GetBlockNormLoops();
  const FusedGradient<float> arrives{DataOf(call, 0), DataOf(call, 1), DataOf(call, 6)};
  const float* x = call.inputs[2].Data<float>();
  const float* weight = DataOf(call, 3);
  float* dx = call.outputs[0].Data<float>();
  float* kept = call.num_outputs > 3 ? call.outputs[3].Data<float>() : nullptr;
  const FusedGradient<float> gradient = kept == nullptr ? arrives : FusedGradient<float>{kept};
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

}  // namespace cpu
}  // namespace oneflow
