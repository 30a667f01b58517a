// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/vision/grid_loops.h"

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

constexpr int kZeros = 0;
constexpr int kBorder = 1;

// One coordinate of all points: in elements, and its derivative by the grid's.
struct Coordinates {
  double value[kGridBlock];
  double slope[kGridBlock];
};

double Floor(double x) { return __builtin_floor(x); }

// What is no number, or far away, lies outside.
template <typename T>
void ToElements(const T* grid, int64_t n, int64_t size, bool align_corners, Coordinates* c) {
  const auto length = static_cast<double>(size);
  const double slope = align_corners ? (length - 1) / 2 : length / 2;
  const double shift = align_corners ? 0.0 : 0.5;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const double value = (static_cast<double>(grid[2 * i]) + 1) * slope - shift;
    const bool near = (value > -1e8) & (value < 1e8);
    c->value[i] = near ? value : -1e8;
    c->slope[i] = near ? slope : 0.0;
  }
}

// Mirrors at both ends.
void Reflect(int64_t n, int64_t size, bool align_corners, Coordinates* c) {
  const double begin = align_corners ? 0.0 : -0.5;
  const double span = static_cast<double>(align_corners ? size - 1 : size);
  if (span == 0) {
    for (int64_t i = 0; i < n; ++i) { c->value[i] = c->slope[i] = 0; }
    return;
  }
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const double from = c->value[i] - begin;
    const double distance = from < 0 ? -from : from;
    const double turns = Floor(distance / span);
    const double extra = distance - turns * span;
    const bool forward = turns - 2 * Floor(turns / 2) == 0;
    const double sign = (from < 0) == forward ? -1.0 : 1.0;
    c->value[i] = (forward ? extra : span - extra) + begin;
    c->slope[i] *= sign;
  }
}

void Clip(int64_t n, int64_t size, Coordinates* c) {
  const auto last = static_cast<double>(size - 1);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const double value = c->value[i];
    const bool low = value <= 0;
    const bool high = value >= last;
    c->slope[i] = low | high ? 0.0 : c->slope[i];
    c->value[i] = low ? 0.0 : (high ? last : value);
  }
}

template <typename T>
void Coordinate(const GridImage& image, const T* grid, int64_t n, int64_t size, Coordinates* c) {
  ToElements(grid, n, size, image.align_corners, c);
  if (image.padding == kZeros) { return; }
  if (image.padding != kBorder) { Reflect(n, size, image.align_corners, c); }
  Clip(n, size, c);
}

// The two elements around each point: index (0 where it is outside), weight and slope.
struct Pair {
  int32_t index[2][kGridBlock];
  double weight[2][kGridBlock];
  double slope[2][kGridBlock];
};

void Neighbours(const Coordinates& c, int64_t n, int64_t size, Pair* pair) {
  const auto last = static_cast<double>(size - 1);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const double first = Floor(c.value[i]);
    const double part = c.value[i] - first;
    const bool has_first = (first >= 0) & (first <= last);
    const bool has_second = (first >= -1) & (first < last);
    pair->index[0][i] = static_cast<int32_t>(has_first ? first : 0.0);
    pair->index[1][i] = static_cast<int32_t>(has_second ? first + 1 : 0.0);
    pair->weight[0][i] = has_first ? first + 1 - c.value[i] : 0.0;
    pair->weight[1][i] = has_second ? part : 0.0;
    pair->slope[0][i] = has_first ? -c.slope[i] : 0.0;
    pair->slope[1][i] = has_second ? c.slope[i] : 0.0;
  }
}

template <typename T>
void Locate(const GridImage& image, const T* grid, int64_t n, GridBlock<T>* block) {
  Coordinates c;
  Pair x;
  Pair y;
  Coordinate(image, grid, n, image.width, &c);
  Neighbours(c, n, image.width, &x);
  Coordinate(image, grid + 1, n, image.height, &c);
  Neighbours(c, n, image.height, &y);
  const auto width = static_cast<int32_t>(image.width);
  for (int k = 0; k < 4; ++k) {
    const int a = k / 2;
    const int b = k % 2;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      block->offset[k][i] = y.index[a][i] * width + x.index[b][i];
      block->weight[k][i] = static_cast<T>(y.weight[a][i] * x.weight[b][i]);
      block->slope_x[k][i] = static_cast<T>(y.weight[a][i] * x.slope[b][i]);
      block->slope_y[k][i] = static_cast<T>(y.slope[a][i] * x.weight[b][i]);
    }
  }
}

template <typename T>
void Sample(const T* plane, const GridBlock<T>& block, int64_t n, T* out) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    T sum = plane[block.offset[0][i]] * block.weight[0][i];
    sum += plane[block.offset[1][i]] * block.weight[1][i];
    sum += plane[block.offset[2][i]] * block.weight[2][i];
    sum += plane[block.offset[3][i]] * block.weight[3][i];
    out[i] = sum;
  }
}

template <typename T>
void Spread(const T* plane, const T* dy, const GridBlock<T>& block, int64_t n, T* plane_grad,
            T* by_x, T* by_y) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    T sum_x = 0;
    T sum_y = 0;
    for (int k = 0; k < 4; ++k) {
      const T value = plane[block.offset[k][i]];
      sum_x += value * block.slope_x[k][i];
      sum_y += value * block.slope_y[k][i];
    }
    by_x[i] += dy[i] * sum_x;
    by_y[i] += dy[i] * sum_y;
  }
  for (int64_t i = 0; i < n; ++i) {
    for (int k = 0; k < 4; ++k) { plane_grad[block.offset[k][i]] += dy[i] * block.weight[k][i]; }
  }
}

template <typename T>
constexpr GridLoopsOf<T> LoopsOf() {
  return {&Locate<T>, &Sample<T>, &Spread<T>};
}

constexpr GridLoops kLoops = {LoopsOf<float>(), LoopsOf<double>()};

}  // namespace

const GridLoops& GetGridLoops() { return kLoops; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
