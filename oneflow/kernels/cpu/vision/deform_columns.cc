// The kernels deform_columns and deform_columns_grad: the columns of a deformable convolution.
//
// Source: Zhu et al., "Deformable ConvNets v2: More Deformable, Better Results", arXiv:1811.11168.
#include <algorithm>
#include <cstring>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs_spatial.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/dense_call.h"
#include "oneflow/kernels/cpu/vision/bilinear.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

// Sizes, and where the operands are: image (N, C, H, W), offset (N, 2 G K, oh, ow) with y before x,
// mask (N, G K, oh, ow) or nothing; K elements of the kernel, G groups of offsets.
template <typename T>
struct Problem {
  Problem(const KernelCall& call, const ArrayView* operands)
      : attrs(call.GetAttrs<DeformAttrs>()),
        image(operands[0].Data<T>()),
        offset(operands[1].Data<T>()),
        mask(operands[2].given ? operands[2].Data<T>() : nullptr) {
    batch = operands[0].shape[0];
    channels = operands[0].shape[1];
    height = operands[0].shape[2];
    width = operands[0].shape[3];
    out_h = operands[1].shape[2];
    out_w = operands[1].shape[3];
    kernel = attrs.kernel[0] * attrs.kernel[1];
  }

  int64_t Pixels() const { return height * width; }
  int64_t Positions() const { return out_h * out_w; }
  int64_t ChannelsOfGroup() const { return channels / attrs.offset_groups; }
  // Of the numbers of image n, group g, element k of the kernel, position p.
  int64_t MaskAt(int64_t n, int64_t g, int64_t k, int64_t p) const {
    return ((n * attrs.offset_groups + g) * kernel + k) * Positions() + p;
  }
  int64_t OffsetAt(int64_t n, int64_t g, int64_t k, int64_t p, int xy) const {
    return (((n * attrs.offset_groups + g) * kernel + k) * 2 + xy) * Positions() + p;
  }
  Bilinear PointAt(int64_t n, int64_t g, int64_t k, int64_t p) const {
    const int64_t y =
        p / out_w * attrs.stride[0] - attrs.padding[0] + k / attrs.kernel[1] * attrs.dilation[0];
    const int64_t x =
        p % out_w * attrs.stride[1] - attrs.padding[1] + k % attrs.kernel[1] * attrs.dilation[1];
    return ZeroPaddedBilinear(
        static_cast<double>(y) + static_cast<double>(offset[OffsetAt(n, g, k, p, 0)]),
        static_cast<double>(x) + static_cast<double>(offset[OffsetAt(n, g, k, p, 1)]), height,
        width);
  }
  int64_t PlaneAt(int64_t n, int64_t c) const { return (n * channels + c) * Pixels(); }
  int64_t ColumnAt(int64_t n, int64_t c, int64_t k) const {
    return ((n * channels + c) * kernel + k) * Positions();
  }

  const DeformAttrs& attrs;
  const T* image;
  const T* offset;
  const T* mask;
  int64_t batch, channels, height, width, out_h, out_w, kernel;
};

template <typename T>
double ValueAt(const T* plane, const Bilinear& at, const double* weights) {
  double sum = 0;
  for (int i = 0; i < 4; ++i) {
    if (at.offset[i] >= 0) { sum += weights[i] * static_cast<double>(plane[at.offset[i]]); }
  }
  return sum;
}

template <typename T>
void Columns(const KernelCall& call) {
  const Problem<T> p(call, call.inputs);
  T* columns = call.outputs[0].Data<T>();
  const int64_t groups = p.attrs.offset_groups;
  ParallelFor(call.threads, p.batch * groups * p.kernel, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t k = i % p.kernel;
      const int64_t g = i / p.kernel % groups;
      const int64_t n = i / p.kernel / groups;
      for (int64_t q = 0; q < p.Positions(); ++q) {
        const Bilinear at = p.PointAt(n, g, k, q);
        const double factor =
            p.mask == nullptr ? 1.0 : static_cast<double>(p.mask[p.MaskAt(n, g, k, q)]);
        for (int64_t c = g * p.ChannelsOfGroup(); c < (g + 1) * p.ChannelsOfGroup(); ++c) {
          const double value = at.inside ? ValueAt(p.image + p.PlaneAt(n, c), at, at.weight) : 0.0;
          columns[p.ColumnAt(n, c, k) + q] = static_cast<T>(value * factor);
        }
      }
    }
  });
}

// Of one image and group of offsets.
template <typename T>
void SpreadGroup(const Problem<T>& p, const T* grad, int64_t n, int64_t g, T* image_grad,
                 T* offset_grad, T* mask_grad) {
  for (int64_t k = 0; k < p.kernel; ++k) {
    for (int64_t q = 0; q < p.Positions(); ++q) {
      const Bilinear at = p.PointAt(n, g, k, q);
      const double factor =
          p.mask == nullptr ? 1.0 : static_cast<double>(p.mask[p.MaskAt(n, g, k, q)]);
      double sums[3] = {};  // by y, x, and the mask
      for (int64_t c = g * p.ChannelsOfGroup(); at.inside && c < (g + 1) * p.ChannelsOfGroup();
           ++c) {
        const T* plane = p.image + p.PlaneAt(n, c);
        const auto dy = static_cast<double>(grad[p.ColumnAt(n, c, k) + q]);
        sums[0] += dy * factor * ValueAt(plane, at, at.slope_y);
        sums[1] += dy * factor * ValueAt(plane, at, at.slope_x);
        sums[2] += dy * ValueAt(plane, at, at.weight);
        for (int i = 0; i < 4; ++i) {
          if (at.offset[i] < 0) { continue; }
          image_grad[p.PlaneAt(n, c) + at.offset[i]] += static_cast<T>(dy * factor * at.weight[i]);
        }
      }
      offset_grad[p.OffsetAt(n, g, k, q, 0)] = static_cast<T>(sums[0]);
      offset_grad[p.OffsetAt(n, g, k, q, 1)] = static_cast<T>(sums[1]);
      if (p.mask != nullptr) { mask_grad[p.MaskAt(n, g, k, q)] = static_cast<T>(sums[2]); }
    }
  }
}

// grad, image, offset, mask -> gradients by image, offset and mask.
template <typename T>
void ColumnsGrad(const KernelCall& call) {
  const Problem<T> p(call, call.inputs + 1);
  const ArrayView& image_grad = call.outputs[0];
  std::memset(image_grad.data, 0, sizeof(T) * static_cast<size_t>(image_grad.Count()));
  const int64_t groups = p.attrs.offset_groups;
  ParallelFor(call.threads, p.batch * groups, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      SpreadGroup(p, call.inputs[0].Data<T>(), i / groups, i % groups, image_grad.Data<T>(),
                  call.outputs[1].Data<T>(), call.outputs[2].Data<T>());
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
  const auto elements =
      static_cast<double>(std::max(call.inputs[0].Count(), call.outputs[0].Count()));
  return 300.0 + 10.0 * elements;
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(deform_columns,
                        {"deform_columns.cpu.points", &Run<&Columns<float>, &Columns<double>>,
                         &AcceptOneFloatingDtype, &Cost, &Scratch});
ONEFLOW_REGISTER_KERNEL(deform_columns_grad, {"deform_columns_grad.cpu.points",
                                              &Run<&ColumnsGrad<float>, &ColumnsGrad<double>>,
                                              &AcceptOneFloatingDtype, &Cost, &Scratch});

}  // namespace cpu
}  // namespace oneflow
