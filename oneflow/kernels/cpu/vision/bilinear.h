// Bilinear interpolation at a point of an image, as regions and deformable kernels use it.
//
// Thread safety: pure functions.
#ifndef ONEFLOW_KERNELS_CPU_VISION_BILINEAR_H_
#define ONEFLOW_KERNELS_CPU_VISION_BILINEAR_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace oneflow {
namespace cpu {

// Four elements of a plane, with weights, and how the weights change with y and x.
struct Bilinear {
  bool inside = false;
  int64_t offset[4] = {};
  double weight[4] = {};
  double slope_y[4] = {};
  double slope_x[4] = {};
};

// A point up to one element outside takes the border's value; further away there is nothing.
inline Bilinear ClampedBilinear(double y, double x, int64_t height, int64_t width) {
  Bilinear b;
  const auto h = static_cast<double>(height);
  const auto w = static_cast<double>(width);
  if (!(y >= -1.0 && y <= h && x >= -1.0 && x <= w)) { return b; }
  b.inside = true;
  y = std::clamp(y, 0.0, h - 1);
  x = std::clamp(x, 0.0, w - 1);
  const auto top = static_cast<int64_t>(y);
  const auto left = static_cast<int64_t>(x);
  const int64_t bottom = std::min(top + 1, height - 1);
  const int64_t right = std::min(left + 1, width - 1);
  const double fy = y - static_cast<double>(top);
  const double fx = x - static_cast<double>(left);
  const int64_t rows[2] = {top, bottom};
  const int64_t columns[2] = {left, right};
  for (int i = 0; i < 4; ++i) {
    b.offset[i] = rows[i / 2] * width + columns[i % 2];
    b.weight[i] = (i / 2 == 0 ? 1 - fy : fy) * (i % 2 == 0 ? 1 - fx : fx);
  }
  return b;
}

// Elements outside the image are 0: offset -1.
inline Bilinear ZeroPaddedBilinear(double y, double x, int64_t height, int64_t width) {
  Bilinear b;
  if (!(y > -1.0 && y < static_cast<double>(height) && x > -1.0 &&
        x < static_cast<double>(width))) {
    return b;
  }
  b.inside = true;
  const double top = std::floor(y);
  const double left = std::floor(x);
  for (int i = 0; i < 4; ++i) {
    const int64_t row = static_cast<int64_t>(top) + i / 2;
    const int64_t column = static_cast<int64_t>(left) + i % 2;
    const bool known = row >= 0 && row < height && column >= 0 && column < width;
    b.offset[i] = known ? row * width + column : -1;
    const double wy = i / 2 == 0 ? top + 1 - y : y - top;
    const double wx = i % 2 == 0 ? left + 1 - x : x - left;
    b.weight[i] = wy * wx;
    b.slope_y[i] = i / 2 == 0 ? -wx : wx;
    b.slope_x[i] = i % 2 == 0 ? -wy : wy;
  }
  return b;
}

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_VISION_BILINEAR_H_
