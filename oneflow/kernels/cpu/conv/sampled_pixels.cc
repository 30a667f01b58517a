#include "oneflow/kernels/cpu/conv/sampled_pixels.h"

#include <algorithm>
#include <cstring>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/cpu/conv/pixel_loops.h"

namespace oneflow {
namespace cpu {

namespace {

constexpr int64_t kGrainPixels = 1 << 14;

// Calls body(plane) for each image and channel, on several threads.
template <typename Body>
void ForEachPlane(const ConvGeometry& g, int threads, const Body& body) {
  const int64_t grain = std::max<int64_t>(1, kGrainPixels / g.InPixels());
  ParallelFor(threads, g.batch * g.in_channels, grain, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) { body(plane); }
  });
}

}  // namespace

bool ReadsSampledPixels(const ConvProblem& p) {
  const ConvGeometry& g = p.geometry;
  return g.IsPointwise() && !g.HasUnitStride() && g.groups == 1 && p.dtype == DataType::kFloat &&
         p.src == ConvLayout::kPlain && p.dst == ConvLayout::kPlain && !g.Empty();
}

ConvProblem OverSampledPixels(const ConvProblem& problem) {
  ConvProblem p = problem;
  for (int d = 0; d < 3; ++d) {
    p.geometry.in[d] = p.geometry.out[d];
    p.geometry.stride[d] = 1;
  }
  return p;
}

size_t SampledPixelBytes(const ConvGeometry& g) {
  const auto pixels = static_cast<size_t>(g.batch * g.in_channels * g.OutPixels());
  return (pixels * sizeof(float) + 63) / 64 * 64;
}

void SamplePixels(const ConvGeometry& g, const float* src, float* samples, int threads) {
  ForEachPlane(g, threads, [&](int64_t plane) {
    const float* from = src + plane * g.InPixels();
    float* to = samples + plane * g.OutPixels();
    for (int64_t d = 0; d < g.out[0]; ++d) {
      for (int64_t h = 0; h < g.out[1]; ++h, to += g.out[2]) {
        const int64_t row = d * g.stride[0] * g.in[1] + h * g.stride[1];
        GetPixelLoops().take(from + row * g.in[2], g.stride[2], g.out[2], to);
      }
    }
  });
}

void SpreadSamples(const ConvGeometry& g, const float* samples, float* src, int threads) {
  ForEachPlane(g, threads, [&](int64_t plane) {
    const float* from = samples + plane * g.OutPixels();
    float* to = src + plane * g.InPixels();
    const auto has = [&g](int axis, int64_t i) {
      return i % g.stride[axis] == 0 && i / g.stride[axis] < g.out[axis];
    };
    for (int64_t d = 0; d < g.in[0]; ++d) {
      for (int64_t h = 0; h < g.in[1]; ++h, to += g.in[2]) {
        if (has(0, d) && has(1, h)) {
          GetPixelLoops().put(from, g.stride[2], g.out[2], g.in[2], to);
          from += g.out[2];
        } else {
          std::memset(to, 0, static_cast<size_t>(g.in[2]) * sizeof(float));
        }
      }
    }
  });
}

}  // namespace cpu
}  // namespace oneflow
