// GridPoints: which elements of an image a point of grid_sample looks at, with what weights, and
// how these change as the point moves.
//
// Thread safety: values; pure functions.
#ifndef ONEFLOW_KERNELS_CPU_VISION_GRID_POINTS_H_
#define ONEFLOW_KERNELS_CPU_VISION_GRID_POINTS_H_

#include <cstdint>

#include "oneflow/kernels/attrs_spatial.h"

namespace oneflow {
namespace cpu {

inline constexpr int kMaxGridTaps = 16;  // bicubic in two dimensions

// One element: its offset in the plane, -1 for one outside (of value 0).
struct GridTap {
  int64_t offset;
  double weight;
  double slope[3];  // of the weight, by each coordinate of the grid: x, y, z
};

struct GridPoint {
  int count = 0;
  GridTap taps[kMaxGridTaps];
};

// `size`: of the image, outermost first, `dims` of them. `at`: x, y[, z] as the grid has them, in
// [-1, 1] inside the image.
GridPoint LocatePoint(const GridSampleAttrs& attrs, int dims, const int64_t* size,
                      const double* at);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_VISION_GRID_POINTS_H_
