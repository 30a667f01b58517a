// Bilinear sampling of images at many points at once, one table for each instruction set.
//
// The same numbers as GridPoints gives one by one. Thread safety: constants.
#ifndef ONEFLOW_KERNELS_CPU_VISION_GRID_LOOPS_H_
#define ONEFLOW_KERNELS_CPU_VISION_GRID_LOOPS_H_

#include <cstdint>

#include "oneflow/kernels/cpu/isa.h"

namespace oneflow {
namespace cpu {

inline constexpr int kGridBlock = 64;  // points at once

struct GridImage {
  int64_t height, width;
  int padding;  // as GridPadding
  bool align_corners;
};

// For each point four elements of the plane; one outside has weight 0. Slopes are those of the
// weights by the grid's x and y.
template <typename T>
struct GridBlock {
  int32_t offset[4][kGridBlock];
  T weight[4][kGridBlock];
  T slope_x[4][kGridBlock];
  T slope_y[4][kGridBlock];
};

template <typename T>
struct GridLoopsOf {
  // grid: n pairs x, y; n <= kGridBlock.
  void (*locate)(const GridImage& image, const T* grid, int64_t n, GridBlock<T>* block);
  void (*sample)(const T* plane, const GridBlock<T>& block, int64_t n, T* out);
  // Adds dy into the plane's gradient, and each point's gradient to by_x and by_y.
  void (*spread)(const T* plane, const T* dy, const GridBlock<T>& block, int64_t n, T* plane_grad,
                 T* by_x, T* by_y);
};

struct GridLoops {
  GridLoopsOf<float> single;
  GridLoopsOf<double> wide;
};

ONEFLOW_DECLARE_ISA_TABLE(GridLoops, GetGridLoops);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_VISION_GRID_LOOPS_H_
