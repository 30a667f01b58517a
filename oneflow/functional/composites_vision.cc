#include "oneflow/functional/composites_vision.h"

#include "oneflow/functional/generated/functional_elementwise.h"
#include "oneflow/functional/generated/functional_indexing.h"
#include "oneflow/functional/generated/functional_matmul.h"
#include "oneflow/functional/generated/functional_order.h"
#include "oneflow/functional/generated/functional_scatter.h"
#include "oneflow/functional/generated/functional_view.h"
#include "oneflow/functional/generated/functional_vision.h"

namespace oneflow::functional::composites {

Maybe<TensorPtr> RefuseSecondGradient(const TensorPtr& /*by_input*/, const TensorPtr& /*by_grid*/) {
  return RuntimeError("[grid_sample] is differentiable once, got a gradient of its gradient");
}

Maybe<TensorPtr> RefuseSecondDeformGradient(const TensorPtr& /*by_input*/,
                                            const TensorPtr& /*by_offset*/,
                                            const TensorPtr& /*by_mask*/) {
  return RuntimeError("[deform_conv2d] is differentiable once, got a gradient of its gradient");
}

// The coordinates of the grid before the transformation are the same for every image.
Maybe<TensorPtr> AffineGrid(const TensorPtr& theta, const Dims& size, bool align_corners) {
  const int dims = size.size() - 2;
  if (dims != 2 && dims != 3) {
    return RuntimeError("[affine_grid] expects size (N, C, H, W) or (N, C, D, H, W), got {}", size);
  }
  const Dims expected{size[0], dims, dims + 1};
  if (theta->shape() != expected || !IsFloating(theta->dtype())) {
    return RuntimeError("[affine_grid] expects theta of shape {} and a floating dtype for size {}, "
                        "got {} {}",
                        expected, size, DataTypeName(theta->dtype()), theta->shape());
  }
  const bool wide = theta->dtype() == DataType::kDouble;
  const DataType dtype = wide ? DataType::kDouble : DataType::kFloat;
  TensorPtr base = JUST(affine_base_grid(size, align_corners, dtype, theta->device()));
  if (theta->dtype() != dtype) { base = JUST(cast(base, theta->dtype())); }
  const TensorPtr points = JUST(matmul(base, JUST(transpose(theta, 1, 2))));
  Dims shape{size[0]};
  for (int d = 0; d < dims; ++d) { shape.PushBack(size[d + 2]); }
  shape.PushBack(dims);
  return reshape(points, shape);
}

namespace {

// (..., C, H, W) as (batch, C, H, W).
Maybe<TensorPtr> AsImages(const char* op, const TensorPtr& input) {
  if (input->ndim() < 3) {
    return RuntimeError("[{}] expects input (..., C, H, W), got {}", op, input->shape());
  }
  const Dims& shape = input->shape();
  const int n = input->ndim();
  int64_t batch = 1;
  for (int d = 0; d < n - 3; ++d) { batch *= shape[d]; }
  return reshape(input, Dims{batch, shape[n - 3], shape[n - 2], shape[n - 1]});
}

// The shape of `input` with its last three sizes replaced by those of `images`.
Dims WithImage(const Dims& input, const Tensor& images) {
  Dims shape(input.data(), input.size() - 3);
  for (int d = 1; d < 4; ++d) { shape.PushBack(images.shape()[d]); }
  return shape;
}

}  // namespace

Maybe<TensorPtr> PixelShuffle(const TensorPtr& input, int64_t h_upscale_factor,
                              int64_t w_upscale_factor) {
  if (input->ndim() == 4) { return shuffle_pixels(input, h_upscale_factor, w_upscale_factor); }
  const TensorPtr images = JUST(AsImages("pixel_shuffle", input));
  const TensorPtr made = JUST(shuffle_pixels(images, h_upscale_factor, w_upscale_factor));
  return reshape(made, WithImage(input->shape(), *made));
}

Maybe<TensorPtr> PixelUnshuffle(const TensorPtr& input, int64_t h_downscale_factor,
                                int64_t w_downscale_factor) {
  if (input->ndim() == 4) {
    return unshuffle_pixels(input, h_downscale_factor, w_downscale_factor);
  }
  const TensorPtr images = JUST(AsImages("pixel_unshuffle", input));
  const TensorPtr made = JUST(unshuffle_pixels(images, h_downscale_factor, w_downscale_factor));
  return reshape(made, WithImage(input->shape(), *made));
}

// The best boxes first; nms marks those that stay.
Maybe<TensorPtr> NmsByScore(const TensorPtr& boxes, const TensorPtr& scores, double iou_threshold) {
  if (boxes->ndim() != 2 || scores->ndim() != 1 || scores->shape()[0] != boxes->shape()[0]) {
    return RuntimeError("[nms] expects boxes (n, 4) and scores (n,), got {} and {}", boxes->shape(),
                        scores->shape());
  }
  const TensorPtr order = JUST(argsort(scores, 0, true, true));
  const TensorPtr sorted = JUST(index_select(boxes, 0, order));
  const TensorPtr keep = JUST(nms(sorted, iou_threshold, -1));
  return masked_select(order, JUST(cast(keep, DataType::kBool)));
}

// The columns of the windows, each element moved by its offset, times the weight as a matrix.
Maybe<TensorPtr> DeformConv2d(const TensorPtr& input, const TensorPtr& weight,
                              const TensorPtr& offset, const TensorPtr& mask, const TensorPtr& bias,
                              int64_t stride_h, int64_t stride_w, int64_t pad_h, int64_t pad_w,
                              int64_t dilation_h, int64_t dilation_w, int64_t groups,
                              int64_t offset_groups, bool use_mask) {
  const Dims& w = weight->shape();
  const bool fits = w.size() == 4 && input->ndim() == 4 && groups >= 1 && w[0] % groups == 0 &&
                    w[1] * groups == input->shape()[1];
  if (!fits) {
    return RuntimeError(
        "[deform_conv2d] expects weight (O, C / groups, KH, KW) for input (N, C, H, "
        "W), got weight {} and input {} with groups {}",
        w, input->shape(), groups);
  }
  const TensorPtr used = use_mask ? mask : TensorPtr();
  const TensorPtr columns =
      JUST(deform_columns(input, offset, used, Dims{w[2], w[3]}, Dims{stride_h, stride_w},
                          Dims{pad_h, pad_w}, Dims{dilation_h, dilation_w}, offset_groups));
  const int64_t batch = input->shape()[0];
  const int64_t rows = w[1] * w[2] * w[3];
  const int64_t positions = columns->shape()[2];
  const TensorPtr grouped = JUST(reshape(columns, Dims{batch, groups, rows, positions}));
  const TensorPtr matrix = JUST(reshape(weight, Dims{groups, w[0] / groups, rows}));
  const TensorPtr product = JUST(matmul(matrix, grouped));
  const Dims& o = offset->shape();
  const TensorPtr out = JUST(reshape(product, Dims{batch, w[0], o[2], o[3]}));
  if (bias == nullptr) { return out; }
  if (bias->shape() != Dims{w[0]}) {
    return RuntimeError("[deform_conv2d] expects bias of shape ({},), got {}", w[0], bias->shape());
  }
  return add(out, JUST(reshape(bias, Dims{1, w[0], 1, 1})));
}

}  // namespace oneflow::functional::composites
