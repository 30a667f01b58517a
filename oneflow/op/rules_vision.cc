#include <cmath>

#include "oneflow/core/saturated.h"
#include "oneflow/op/rules_spatial.h"
#include "oneflow/op/rules_util.h"

namespace oneflow {

Maybe<void> InferUpsample(const InferContext& context, TensorMeta* outputs) {
  const SpatialList& size = context.GetAttrs<UpsampleAttrs>().size;
  JUST(CheckFloating(context, 0));
  JUST(CheckSpatialInput(context, 0, size.count));
  const Shape& input = context.inputs[0]->shape;
  outputs[0].shape = input;
  for (int d = 0; d < size.count; ++d) {
    if (size[d] < 1 || input[d + 2] < 1) {
      return RuntimeError("[{}] expects spatial sizes of at least 1, got input {} and size {}",
                          context.op, input, size.ToDims());
    }
    outputs[0].shape[d + 2] = size[d];
  }
  return Ok();
}

namespace {

// Input (N, C, H, W) and grid (N, oh, ow, 2), or the same in three dimensions.
Maybe<void> CheckGrid(const InferContext& context, const Shape& input, const Shape& grid) {
  const int dims = input.size() - 2;
  if ((dims != 2 && dims != 3) || grid.size() != input.size() || grid.back() != dims ||
      grid[0] != input[0]) {
    return RuntimeError("[{}] expects input (N, C, H, W) and grid (N, out_h, out_w, 2), or input "
                        "(N, C, D, H, W) and grid (N, out_d, out_h, out_w, 3), got {} and {}",
                        context.op, input, grid);
  }
  for (int d = 0; d < dims; ++d) {
    if (input[d + 2] < 1) {
      return RuntimeError("[{}] expects spatial sizes of at least 1, got input {}", context.op,
                          input);
    }
  }
  if (dims == 3 && context.GetAttrs<GridSampleAttrs>().mode == GridMode::kBicubic) {
    return RuntimeError("[{}] expects input of 4 dimensions with bicubic interpolation, got {}",
                        context.op, input);
  }
  return Ok();
}

}  // namespace

Maybe<void> InferGridSample(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckFloating(context, 0));
  JUST(CheckSameDtype(context));
  const Shape& input = context.inputs[0]->shape;
  const Shape& grid = context.inputs[1]->shape;
  JUST(CheckGrid(context, input, grid));
  outputs[0].shape = input;
  for (int d = 2; d < input.size(); ++d) { outputs[0].shape[d] = grid[d - 1]; }
  return Ok();
}

Maybe<void> InferGridSampleGrad(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckFloating(context, 0));
  JUST(CheckSameDtype(context));
  JUST(CheckGrid(context, context.inputs[1]->shape, context.inputs[2]->shape));
  outputs[0].shape = context.inputs[1]->shape;
  outputs[1].shape = context.inputs[2]->shape;
  return Ok();
}

Maybe<void> InferAffineBaseGrid(const InferContext& context, TensorMeta* outputs) {
  const Dims size = context.GetAttrs<AffineBaseGridAttrs>().size.ToDims();
  if (size.size() != 4 && size.size() != 5) {
    return RuntimeError("[{}] expects size (N, C, H, W) or (N, C, D, H, W), got {}", context.op,
                        size);
  }
  int64_t count = 1;
  for (int d = 0; d < size.size(); ++d) {
    if (size[d] < 1) {
      return RuntimeError("[{}] expects sizes of at least 1, got {}", context.op, size);
    }
    count = d < 2 ? count : SaturatedProduct(count, size[d]);
  }
  outputs[0].shape = Shape{count, size.size() - 1};
  return Ok();
}

Maybe<void> InferShufflePixels(const InferContext& context, TensorMeta* outputs) {
  const auto& attrs = context.GetAttrs<ShuffleAttrs>();
  const Shape& s = context.inputs[0]->shape;
  const int64_t pixels = SaturatedProduct(attrs.h, attrs.w);
  if (s.size() != 4 || attrs.h < 1 || attrs.w < 1 || s[1] % pixels != 0) {
    return RuntimeError("[{}] expects input (N, C, H, W) and factors of at least 1 whose product "
                        "divides the number of channels, got {} and {} for input {}",
                        context.op, attrs.h, attrs.w, s);
  }
  outputs[0].shape =
      Shape{s[0], s[1] / pixels, SaturatedProduct(s[2], attrs.h), SaturatedProduct(s[3], attrs.w)};
  return Ok();
}

Maybe<void> InferUnshufflePixels(const InferContext& context, TensorMeta* outputs) {
  const auto& attrs = context.GetAttrs<ShuffleAttrs>();
  const Shape& s = context.inputs[0]->shape;
  const bool fits =
      s.size() == 4 && attrs.h >= 1 && attrs.w >= 1 && s[2] % attrs.h == 0 && s[3] % attrs.w == 0;
  if (!fits) {
    return RuntimeError("[{}] expects input (N, C, H, W) and factors of at least 1 that divide "
                        "height and width, got {} and {} for input {}",
                        context.op, attrs.h, attrs.w, s);
  }
  const int64_t pixels = SaturatedProduct(attrs.h, attrs.w);
  outputs[0].shape = Shape{s[0], SaturatedProduct(s[1], pixels), s[2] / attrs.h, s[3] / attrs.w};
  return Ok();
}

namespace {

Maybe<void> CheckRegions(const InferContext& context) {
  const auto& attrs = context.GetAttrs<RoiAlignAttrs>();
  const Shape& rois = context.inputs[1]->shape;
  JUST(CheckFloating(context, 0));
  JUST(CheckSameDtype(context));
  if (rois.size() != 2 || rois[1] != 5) {
    return RuntimeError("[{}] expects rois (K, 5), got {}", context.op, rois);
  }
  if (attrs.pooled_h < 1 || attrs.pooled_w < 1) {
    return RuntimeError("[{}] expects pooled_h and pooled_w of at least 1, got {} and {}",
                        context.op, attrs.pooled_h, attrs.pooled_w);
  }
  return Ok();
}

}  // namespace

Maybe<void> InferRoiAlign(const InferContext& context, TensorMeta* outputs) {
  const auto& attrs = context.GetAttrs<RoiAlignAttrs>();
  const Shape& x = context.inputs[0]->shape;
  if (x.size() != 4) { return RuntimeError("[{}] expects x (N, C, H, W), got {}", context.op, x); }
  JUST(CheckRegions(context));
  outputs[0].shape = Shape{context.inputs[1]->shape[0], x[1], attrs.pooled_h, attrs.pooled_w};
  return Ok();
}

Maybe<void> InferRoiAlignGrad(const InferContext& context, TensorMeta* outputs) {
  const auto& attrs = context.GetAttrs<RoiAlignAttrs>();
  JUST(CheckRegions(context));
  const Shape shape = attrs.shape.ToDims();
  if (shape.size() != 4) {
    return RuntimeError("[{}] expects a shape (N, C, H, W), got {}", context.op, shape);
  }
  JUST(CheckShape(context, 0,
                  Shape{context.inputs[1]->shape[0], shape[1], attrs.pooled_h, attrs.pooled_w}));
  outputs[0].shape = shape;
  return Ok();
}

Maybe<void> InferNms(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckFloating(context, 0));
  const Shape& boxes = context.inputs[0]->shape;
  if (boxes.size() != 2 || boxes[1] != 4) {
    return RuntimeError("[{}] expects boxes (n, 4), got {}", context.op, boxes);
  }
  outputs[0].shape = Shape{boxes[0]};
  outputs[0].dtype = DataType::kInt8;
  return Ok();
}

// ---- deformable columns -------------------------------------------------------------------------

namespace {

Maybe<void> CheckDeformLists(const InferContext& context, const DeformAttrs& attrs) {
  for (int d = 0; d < 2; ++d) {
    if (attrs.stride[d] < 1) {
      return RuntimeError("[{}] expects strides of at least 1, got {}", context.op,
                          attrs.stride.ToDims());
    }
    if (attrs.padding[d] < 0) {
      return RuntimeError("[{}] expects padding of at least 0, got {}", context.op,
                          attrs.padding.ToDims());
    }
    if (attrs.dilation[d] < 1) {
      return RuntimeError("[{}] expects dilations of at least 1, got {}", context.op,
                          attrs.dilation.ToDims());
    }
  }
  return Ok();
}

// operands: input, offset, mask or nothing, from input `first` on.
Maybe<void> CheckDeform(const InferContext& context, int first, Shape* columns) {
  const auto& attrs = context.GetAttrs<DeformAttrs>();
  const Shape& input = context.inputs[first]->shape;
  const Shape& offset = context.inputs[first + 1]->shape;
  JUST(CheckFloating(context, first));
  JUST(CheckSameDtype(context));
  if (input.size() != 4 || offset.size() != 4) {
    return RuntimeError(
        "[{}] expects input (N, C, H, W) and offset (N, 2 * offset_groups * KH * KW, "
        "out_h, out_w), got {} and {}",
        context.op, input, offset);
  }
  JUST(CheckDeformLists(context, attrs));
  if (offset[0] != input[0]) {
    return RuntimeError("[{}] expects an offset for each of {} samples, got offset {}", context.op,
                        input[0], offset);
  }
  const int64_t groups = attrs.offset_groups;
  const int64_t pixels = attrs.kernel[0] * attrs.kernel[1];
  if (groups < 1 || offset[1] != 2 * groups * pixels || input[1] % groups != 0) {
    return RuntimeError("[{}] expects an offset with 2 * offset_groups * KH * KW = 2 * {} * {} "
                        "channels, and input channels that offset_groups divides, got offset {} "
                        "for input {}",
                        context.op, groups, pixels, offset, input);
  }
  for (int d = 0; d < 2; ++d) {
    const int64_t reach = WindowReach(attrs.kernel[d], attrs.dilation[d]);
    const int64_t padded =
        JUST(PaddedSize(context, d, input[d + 2], attrs.padding[d], attrs.padding[d]));
    const int64_t span = padded - reach;
    const int64_t size = span < 0 ? 0 : span / attrs.stride[d] + 1;
    if (size < 1) {
      return RuntimeError("[{}] expects a padded input that the window, {} long in spatial dim {}, "
                          "fits into, got input {}",
                          context.op, reach, d, input);
    }
    if (offset[d + 2] != size) {
      return RuntimeError(
          "[{}] expects an offset as large as the output, {} in spatial dim {}, got "
          "offset {} for input {}",
          context.op, size, d, offset, input);
    }
  }
  if (context.inputs[first + 2] != nullptr) {
    const Shape& mask = context.inputs[first + 2]->shape;
    const Shape expected{offset[0], offset[1] / 2, offset[2], offset[3]};
    if (mask.size() == 4 && mask[1] != expected[1]) {
      return RuntimeError("[{}] expects mask {}, got {}", context.op, expected, mask);
    }
    JUST(CheckShape(context, first + 2, expected));
  }
  *columns = Shape{input[0], input[1] * pixels, offset[2] * offset[3]};
  return Ok();
}

}  // namespace

Maybe<void> InferDeformColumns(const InferContext& context, TensorMeta* outputs) {
  return CheckDeform(context, 0, &outputs[0].shape);
}

Maybe<void> InferDeformColumnsGrad(const InferContext& context, TensorMeta* outputs) {
  Shape columns;
  JUST(CheckDeform(context, 1, &columns));
  JUST(CheckShape(context, 0, columns));
  outputs[0].shape = context.inputs[1]->shape;
  outputs[1].shape = context.inputs[2]->shape;
  outputs[2].shape = context.inputs[3] == nullptr ? Shape{0} : context.inputs[3]->shape;
  return Ok();
}

}  // namespace oneflow
