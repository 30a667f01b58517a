// The kernels grid_sample, grid_sample_grad and affine_base_grid.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs_spatial.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/dense_call.h"
#include "oneflow/kernels/cpu/vision/grid_loops.h"
#include "oneflow/kernels/cpu/vision/grid_points.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

// Sizes that the two kernels share. Everything is dense.
struct Problem {
  Problem(const KernelCall& call, const ArrayView& image, const ArrayView& points)
      : attrs(call.GetAttrs<GridSampleAttrs>()), dims(image.ndim - 2), size(image.shape + 2) {
    batch = image.shape[0];
    channels = image.shape[1];
    for (int d = 0; d < dims; ++d) {
      pixels *= image.shape[d + 2];
      count *= points.shape[d + 1];
    }
  }

  template <typename T>
  GridPoint PointAt(const T* grid, int64_t i) const {
    double at[3];
    for (int a = 0; a < dims; ++a) { at[a] = static_cast<double>(grid[i * dims + a]); }
    return LocatePoint(attrs, dims, size, at);
  }

  const GridSampleAttrs& attrs;
  int dims;
  const int64_t* size;  // of the image
  int64_t batch, channels;
  int64_t pixels = 1;  // of the image
  int64_t count = 1;   // points for each image
};

// ---- bilinear in images, many points at once ----------------------------------------------------

template <typename T>
const GridLoopsOf<T>& LoopsFor() {
  if constexpr (std::is_same_v<T, float>) {
    return GetGridLoops().single;
  } else {
    return GetGridLoops().wide;
  }
}

bool InBlocks(const Problem& p) {
  return p.attrs.mode == GridMode::kBilinear && p.dims == 2 && p.pixels < (int64_t{1} << 31);
}

GridImage ImageOf(const Problem& p) {
  return {p.size[0], p.size[1], static_cast<int>(p.attrs.padding), p.attrs.align_corners};
}

// Blocks of one image's points: [begin, begin + n).
template <typename T>
void SampleBlock(const Problem& p, const KernelCall& call, int64_t image, int64_t begin,
                 int64_t n) {
  const GridLoopsOf<T>& loops = LoopsFor<T>();
  GridBlock<T> block;
  loops.locate(ImageOf(p), call.inputs[1].Data<T>() + (image * p.count + begin) * 2, n, &block);
  for (int64_t c = image * p.channels; c < (image + 1) * p.channels; ++c) {
    loops.sample(call.inputs[0].Data<T>() + c * p.pixels, block, n,
                 call.outputs[0].Data<T>() + c * p.count + begin);
  }
}

template <typename T>
void SpreadBlock(const Problem& p, const KernelCall& call, int64_t image, int64_t begin,
                 int64_t n) {
  const GridLoopsOf<T>& loops = LoopsFor<T>();
  GridBlock<T> block;
  T by_x[kGridBlock] = {};
  T by_y[kGridBlock] = {};
  loops.locate(ImageOf(p), call.inputs[2].Data<T>() + (image * p.count + begin) * 2, n, &block);
  for (int64_t c = image * p.channels; c < (image + 1) * p.channels; ++c) {
    loops.spread(call.inputs[1].Data<T>() + c * p.pixels,
                 call.inputs[0].Data<T>() + c * p.count + begin, block, n,
                 call.outputs[0].Data<T>() + c * p.pixels, by_x, by_y);
  }
  T* grid_grad = call.outputs[1].Data<T>() + (image * p.count + begin) * 2;
  for (int64_t i = 0; i < n; ++i) {
    grid_grad[2 * i] = by_x[i];
    grid_grad[2 * i + 1] = by_y[i];
  }
}

template <typename T>
void SampleInBlocks(const Problem& p, const KernelCall& call) {
  const int64_t blocks = (p.count + kGridBlock - 1) / kGridBlock;
  ParallelFor(call.threads, p.batch * blocks, 4, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t first = b % blocks * kGridBlock;
      SampleBlock<T>(p, call, b / blocks, first, std::min<int64_t>(kGridBlock, p.count - first));
    }
  });
}

template <typename T>
void SpreadInBlocks(const Problem& p, const KernelCall& call, int64_t image) {
  for (int64_t first = 0; first < p.count; first += kGridBlock) {
    SpreadBlock<T>(p, call, image, first, std::min<int64_t>(kGridBlock, p.count - first));
  }
}

// ---- every mode, point by point -----------------------------------------------------------------

template <typename T>
void Sample(const KernelCall& call) {
  const Problem p(call, call.inputs[0], call.inputs[1]);
  if (InBlocks(p)) { return SampleInBlocks<T>(p, call); }
  ParallelFor(call.threads, p.batch * p.count, 256, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t n = i / p.count;
      const GridPoint point = p.PointAt(call.inputs[1].Data<T>(), i);
      const T* image = call.inputs[0].Data<T>() + n * p.channels * p.pixels;
      T* out = call.outputs[0].Data<T>() + n * p.channels * p.count + i % p.count;
      for (int64_t c = 0; c < p.channels; ++c) {
        T sum = 0;
        for (int k = 0; k < point.count; ++k) {
          const GridTap& tap = point.taps[k];
          if (tap.offset >= 0) {
            sum += image[c * p.pixels + tap.offset] * static_cast<T>(tap.weight);
          }
        }
        out[c * p.count] = sum;
      }
    }
  });
}

// Adds one point's gradient to the image's, and returns that of its coordinates.
template <typename T>
void SpreadPoint(const Problem& p, const GridPoint& point, const T* grad, const T* image,
                 T* image_grad, T* grid_grad) {
  double slope[3] = {};
  for (int64_t c = 0; c < p.channels; ++c) {
    const T dy = grad[c * p.count];
    for (int k = 0; k < point.count; ++k) {
      const GridTap& tap = point.taps[k];
      if (tap.offset < 0) { continue; }
      const int64_t at = c * p.pixels + tap.offset;
      image_grad[at] += dy * static_cast<T>(tap.weight);
      const double share = static_cast<double>(dy) * static_cast<double>(image[at]);
      for (int a = 0; a < p.dims; ++a) { slope[a] += share * tap.slope[a]; }
    }
  }
  for (int a = 0; a < p.dims; ++a) { grid_grad[a] = static_cast<T>(slope[a]); }
}

// grad, input, grid -> gradients by input and by grid. By images: points add into the same one.
template <typename T>
void SampleGrad(const KernelCall& call) {
  const Problem p(call, call.inputs[1], call.inputs[2]);
  ParallelFor(call.threads, p.batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      const int64_t image = n * p.channels * p.pixels;
      T* image_grad = call.outputs[0].Data<T>() + image;
      std::memset(image_grad, 0, sizeof(T) * static_cast<size_t>(p.channels * p.pixels));
      if (InBlocks(p)) {
        SpreadInBlocks<T>(p, call, n);
        continue;
      }
      for (int64_t i = 0; i < p.count; ++i) {
        const int64_t at = n * p.count + i;
        SpreadPoint(p, p.PointAt(call.inputs[2].Data<T>(), at),
                    call.inputs[0].Data<T>() + n * p.channels * p.count + i,
                    call.inputs[1].Data<T>() + image, image_grad,
                    call.outputs[1].Data<T>() + at * p.dims);
      }
    }
  });
}

template <void (*single)(const KernelCall&), void (*wide)(const KernelCall&)>
Maybe<void> Run(const KernelCall& call) {
  return RunDense(call, [](const KernelCall& dense) -> Maybe<void> {
    dense.outputs[0].dtype == DataType::kDouble ? wide(dense) : single(dense);
    return Ok();
  });
}

size_t Scratch(const KernelCall& call) { return DenseCall::ScratchBytes(call); }

double Cost(const KernelCall& call) {
  double bytes = 0;
  for (int i = 0; i < call.num_inputs; ++i) { bytes += BytesOf(call.inputs[i]); }
  const auto elements =
      static_cast<double>(std::max(call.inputs[0].Count(), call.outputs[0].Count()));
  return 200.0 + 5.0 * elements + MemoryCostNs(bytes);
}

// ---- affine_base_grid ---------------------------------------------------------------------------

// Coordinate i of `size` in [-1, 1]: with align_corners the outermost elements lie at the ends,
// else the outer edges of them.
double Position(int64_t i, int64_t size, bool align_corners) {
  if (size <= 1) { return 0.0; }
  const double from_ends = -1.0 + 2.0 * static_cast<double>(i) / static_cast<double>(size - 1);
  return align_corners ? from_ends
                       : from_ends * static_cast<double>(size - 1) / static_cast<double>(size);
}

template <typename T>
void FillGrid(const AffineBaseGridAttrs& attrs, T* out) {
  const int dims = attrs.size.count - 2;
  int64_t index[3] = {};
  int64_t count = 1;
  for (int d = 0; d < dims; ++d) { count *= attrs.size.values[d + 2]; }
  for (int64_t i = 0; i < count; ++i) {
    for (int a = 0; a < dims; ++a) {
      const int d = dims - 1 - a;
      *out++ = static_cast<T>(Position(index[d], attrs.size.values[d + 2], attrs.align_corners));
    }
    *out++ = T(1);
    for (int d = dims - 1; d >= 0 && ++index[d] == attrs.size.values[d + 2]; --d) { index[d] = 0; }
  }
}

Maybe<void> RunBaseGrid(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<AffineBaseGridAttrs>();
  const ArrayView& out = call.outputs[0];
  if (out.dtype == DataType::kDouble) {
    FillGrid(attrs, out.Data<double>());
  } else {
    FillGrid(attrs, out.Data<float>());
  }
  return Ok();
}

const char* AcceptBaseGrid(const KernelCall& call) {
  const DataType dtype = call.outputs[0].dtype;
  const bool known = dtype == DataType::kFloat || dtype == DataType::kDouble;
  return known && call.outputs[0].contiguous ? nullptr : "dtype not supported";
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(grid_sample,
                        {"grid_sample.cpu.points", &Run<&Sample<float>, &Sample<double>>,
                         &AcceptOneFloatingDtype, &Cost, &Scratch});
ONEFLOW_REGISTER_KERNEL(grid_sample_grad, {"grid_sample_grad.cpu.points",
                                           &Run<&SampleGrad<float>, &SampleGrad<double>>,
                                           &AcceptOneFloatingDtype, &Cost, &Scratch});
ONEFLOW_REGISTER_KERNEL(affine_base_grid,
                        {"affine_base_grid.cpu.reference", &RunBaseGrid, &AcceptBaseGrid});

}  // namespace cpu
}  // namespace oneflow
