#include "oneflow/kernels/cpu/vision/grid_points.h"

#include <algorithm>
#include <cmath>

#include "oneflow/kernels/cpu/vision/taps.h"

namespace oneflow {
namespace cpu {

namespace {

// A coordinate in elements, and its derivative by the grid's.
struct Coordinate {
  double value;
  double slope;
};

Coordinate Clip(Coordinate c, int64_t size) {
  const auto last = static_cast<double>(size - 1);
  if (c.value <= 0) { return {0.0, 0.0}; }
  if (c.value >= last) { return {last, 0.0}; }
  return c;
}

// Mirrors at both ends of [low / 2, high / 2].
Coordinate Reflect(Coordinate c, double low, double high) {
  if (low == high) { return {0.0, 0.0}; }
  const double begin = low / 2;
  const double span = (high - low) / 2;
  double distance = c.value - begin;
  double slope = c.slope;
  if (distance < 0) {
    distance = -distance;
    slope = -slope;
  }
  const double extra = std::fmod(distance, span);
  const bool forward = std::fmod(std::floor(distance / span), 2.0) == 0.0;
  return forward ? Coordinate{extra + begin, slope} : Coordinate{span - extra + begin, -slope};
}

Coordinate Pad(const GridSampleAttrs& attrs, Coordinate c, int64_t size) {
  switch (attrs.padding) {
    case GridPadding::kZeros: return c;
    case GridPadding::kBorder: return Clip(c, size);
    case GridPadding::kReflection: break;
  }
  const auto n = static_cast<double>(size);
  return Clip(attrs.align_corners ? Reflect(c, 0, 2 * (n - 1)) : Reflect(c, -1, 2 * n - 1), size);
}

// The grid's coordinate in elements. What is no number, or far away, lies outside.
Coordinate ToElements(const GridSampleAttrs& attrs, double at, int64_t size) {
  constexpr double kFar = 1e8;
  const auto n = static_cast<double>(size);
  const double slope = attrs.align_corners ? (n - 1) / 2 : n / 2;
  const double value = attrs.align_corners ? (at + 1) * slope : (at + 1) * slope - 0.5;
  if (!(value > -kFar && value < kFar)) { return {-kFar, 0.0}; }
  return {value, slope};
}

// What one dimension contributes: elements with weights and slopes.
struct AxisPoint {
  int count;
  int64_t index[4];  // -1: outside
  double weight[4];
  double slope[4];
};

int64_t Inside(double index, int64_t size) {
  return index >= 0 && index < static_cast<double>(size) ? static_cast<int64_t>(index) : -1;
}

AxisPoint LocateAxis(const GridSampleAttrs& attrs, double at, int64_t size) {
  AxisPoint p;
  const Coordinate raw = ToElements(attrs, at, size);
  if (attrs.mode == GridMode::kBicubic) {
    p.count = 4;
    const double first = std::floor(raw.value);
    double slopes[4];
    CubicWeights(raw.value - first, p.weight);
    CubicWeightSlopes(raw.value - first, slopes);
    for (int k = 0; k < 4; ++k) {
      p.index[k] = Inside(std::nearbyint(Pad(attrs, {first - 1 + k, 0.0}, size).value), size);
      p.slope[k] = slopes[k] * raw.slope;
    }
    return p;
  }
  const Coordinate c = Pad(attrs, raw, size);
  if (attrs.mode == GridMode::kNearest) {
    p.count = 1;
    p.index[0] = Inside(std::nearbyint(c.value), size);
    p.weight[0] = 1.0;
    p.slope[0] = 0.0;
    return p;
  }
  p.count = 2;
  const double first = std::floor(c.value);
  for (int k = 0; k < 2; ++k) {
    p.index[k] = Inside(first + k, size);
    p.weight[k] = k == 0 ? first + 1 - c.value : c.value - first;
    p.slope[k] = k == 0 ? -c.slope : c.slope;
  }
  return p;
}

}  // namespace

GridPoint LocatePoint(const GridSampleAttrs& attrs, int dims, const int64_t* size,
                      const double* at) {
  AxisPoint axes[3];  // x, y, z
  for (int a = 0; a < dims; ++a) { axes[a] = LocateAxis(attrs, at[a], size[dims - 1 - a]); }
  for (int a = dims; a < 3; ++a) { axes[a] = {1, {0}, {1.0}, {0.0}}; }
  const int64_t width = size[dims - 1];
  const int64_t height = dims > 1 ? size[dims - 2] : 1;
  GridPoint point;
  for (int k = 0; k < axes[2].count; ++k) {
    for (int j = 0; j < axes[1].count; ++j) {
      for (int i = 0; i < axes[0].count; ++i) {
        const int64_t x = axes[0].index[i];
        const int64_t y = axes[1].index[j];
        const int64_t z = axes[2].index[k];
        const double wx = axes[0].weight[i];
        const double wy = axes[1].weight[j];
        const double wz = axes[2].weight[k];
        const bool inside = x >= 0 && y >= 0 && z >= 0;
        point.taps[point.count++] = {
            inside ? (z * height + y) * width + x : -1,
            wx * wy * wz,
            {axes[0].slope[i] * wy * wz, wx * axes[1].slope[j] * wz, wx * wy * axes[2].slope[k]}};
      }
    }
  }
  return point;
}

}  // namespace cpu
}  // namespace oneflow
