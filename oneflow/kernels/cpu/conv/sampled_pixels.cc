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

template <typename T>
void Sample(const ConvGeometry& g, const T* src, T* samples, int threads) {
  ForEachPlane(g, threads, [&](int64_t plane) {
    const T* from = src + plane * g.InPixels();
    T* to = samples + plane * g.OutPixels();
    for (int64_t d = 0; d < g.out[0]; ++d) {
      for (int64_t h = 0; h < g.out[1]; ++h, to += g.out[2]) {
        const int64_t row = d * g.stride[0] * g.in[1] + h * g.stride[1];
        GetPixelLoopsOf<T>().take(from + row * g.in[2], g.stride[2], g.out[2], to);
      }
    }
  });
}

template <typename T>
void Spread(const ConvGeometry& g, const T* samples, T* src, int threads) {
  ForEachPlane(g, threads, [&](int64_t plane) {
    const T* from = samples + plane * g.OutPixels();
    T* to = src + plane * g.InPixels();
    const auto has = [&g](int axis, int64_t i) {
      return i % g.stride[axis] == 0 && i / g.stride[axis] < g.out[axis];
    };
    for (int64_t d = 0; d < g.in[0]; ++d) {
      for (int64_t h = 0; h < g.in[1]; ++h, to += g.in[2]) {
        if (has(0, d) && has(1, h)) {
          GetPixelLoopsOf<T>().put(from, g.stride[2], g.out[2], g.in[2], to);
          from += g.out[2];
        } else {
          std::memset(to, 0, static_cast<size_t>(g.in[2]) * sizeof(T));
        }
      }
    }
  });
}

}  // namespace

bool ReadsSampledPixels(const ConvProblem& p) {
  const ConvGeometry& g = p.geometry;
  return g.IsPointwise() && !g.HasUnitStride() && g.groups == 1 && p.src == ConvLayout::kPlain &&
         p.dst == ConvLayout::kPlain && !g.Empty();
}

ConvProblem OverSampledPixels(const ConvProblem& problem) {
  ConvProblem p = problem;
  for (int d = 0; d < 3; ++d) {
    p.geometry.in[d] = p.geometry.out[d];
    p.geometry.stride[d] = 1;
  }
  return p;
}

size_t SampledPixelBytes(const ConvProblem& p) {
  const ConvGeometry& g = p.geometry;
  const auto pixels = static_cast<size_t>(g.batch * g.in_channels * g.OutPixels());
  return (pixels * SizeOf(p.dtype) + 63) / 64 * 64;
}

void SamplePixels(const ConvProblem& p, const void* src, void* samples) {
  if (SizeOf(p.dtype) == sizeof(uint16_t)) {
    return Sample(p.geometry, static_cast<const uint16_t*>(src), static_cast<uint16_t*>(samples),
                  p.threads);
  }
  Sample(p.geometry, static_cast<const uint32_t*>(src), static_cast<uint32_t*>(samples), p.threads);
}

void SpreadSamples(const ConvProblem& p, const void* samples, void* src) {
  if (SizeOf(p.dtype) == sizeof(uint16_t)) {
    return Spread(p.geometry, static_cast<const uint16_t*>(samples), static_cast<uint16_t*>(src),
                  p.threads);
  }
  Spread(p.geometry, static_cast<const uint32_t*>(samples), static_cast<uint32_t*>(src), p.threads);
}

}  // namespace cpu
}  // namespace oneflow
