#include "oneflow/kernels/cpu/vision/taps.h"

#include <algorithm>
#include <cmath>

namespace oneflow {
namespace cpu {

namespace {

constexpr double kCubic = -0.75;

// |x| <= 1, and 1 < |x| < 2.
double Near(double x) { return ((kCubic + 2) * x - (kCubic + 3)) * x * x + 1; }
double Far(double x) { return ((kCubic * x - 5 * kCubic) * x + 8 * kCubic) * x - 4 * kCubic; }
double NearSlope(double x) { return (3 * (kCubic + 2) * x - 2 * (kCubic + 3)) * x; }
double FarSlope(double x) { return (3 * kCubic * x - 10 * kCubic) * x + 8 * kCubic; }

// Input elements for each of the result.
double RatioOf(bool align_corners, int64_t in, int64_t out, double scale) {
  if (align_corners) {
    return out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0.0;
  }
  return scale > 0 ? 1.0 / scale : static_cast<double>(in) / static_cast<double>(out);
}

int64_t NearestIndex(int64_t o, const AxisTaps& axis, double scale, bool single) {
  if (axis.in == axis.out && scale <= 0) { return o; }
  double at = 0;
  if (single) {
    const float ratio = scale > 0 ? static_cast<float>(1.0 / scale)
                                  : static_cast<float>(axis.in) / static_cast<float>(axis.out);
    at = static_cast<double>(std::floor(static_cast<float>(o) * ratio));
  } else {
    at = std::floor(static_cast<double>(o) * RatioOf(false, axis.in, axis.out, scale));
  }
  return std::min(static_cast<int64_t>(at), axis.in - 1);
}

void Set(AxisTaps* axis, int k, int64_t o, int64_t index, double weight) {
  const auto at = static_cast<size_t>(k * axis->out + o);
  axis->index[at] = static_cast<int32_t>(std::clamp<int64_t>(index, 0, axis->in - 1));
  axis->weight[at] = weight;
}

}  // namespace

void CubicWeights(double t, double weights[4]) {
  weights[0] = Far(t + 1);
  weights[1] = Near(t);
  weights[2] = Near(1 - t);
  weights[3] = Far(2 - t);
}

void CubicWeightSlopes(double t, double slopes[4]) {
  slopes[0] = FarSlope(t + 1);
  slopes[1] = NearSlope(t);
  slopes[2] = -NearSlope(1 - t);
  slopes[3] = -FarSlope(2 - t);
}

AxisTaps MakeTaps(UpsampleMode mode, bool align_corners, int64_t in, int64_t out, double scale,
                  bool single) {
  AxisTaps axis;
  axis.taps = mode == UpsampleMode::kNearest ? 1 : mode == UpsampleMode::kLinear ? 2 : 4;
  axis.in = in;
  axis.out = out;
  axis.index.resize(static_cast<size_t>(axis.taps * out));
  axis.weight.resize(static_cast<size_t>(axis.taps * out));
  const double ratio = RatioOf(align_corners, in, out, scale);
  for (int64_t o = 0; o < out; ++o) {
    if (mode == UpsampleMode::kNearest) {
      Set(&axis, 0, o, NearestIndex(o, axis, scale, single), 1.0);
      continue;
    }
    const auto position = static_cast<double>(o);
    double at = align_corners ? ratio * position : ratio * (position + 0.5) - 0.5;
    if (mode == UpsampleMode::kLinear) {
      at = std::clamp(at, 0.0, static_cast<double>(in - 1));
      const auto first = static_cast<int64_t>(at);
      const double t = at - static_cast<double>(first);
      Set(&axis, 0, o, first, 1 - t);
      Set(&axis, 1, o, first + 1, t);
      continue;
    }
    const auto first = static_cast<int64_t>(std::floor(at));
    double weights[4];
    CubicWeights(at - static_cast<double>(first), weights);
    for (int k = 0; k < 4; ++k) { Set(&axis, k, o, first - 1 + k, weights[k]); }
  }
  return axis;
}

}  // namespace cpu
}  // namespace oneflow
