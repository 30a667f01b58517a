#include <algorithm>

#include "oneflow/core/saturated.h"
#include "oneflow/op/rules_spatial.h"
#include "oneflow/op/rules_util.h"

namespace oneflow {

namespace {

// The number of windows; none if it is not positive. With ceil_mode the last one may reach over the
// end, but begins before it.
int64_t PooledSize(int64_t in, int64_t reach, int64_t stride, int64_t padding, bool ceil_mode) {
  stride = std::min(stride, 2 * kMostPadded);  // beyond any window either way
  const int64_t span = in + 2 * padding - reach + (ceil_mode ? stride - 1 : 0);
  if (span < 0) { return 0; }
  int64_t size = span / stride + 1;
  if (ceil_mode && (size - 1) * stride >= in + padding) { --size; }
  return size;
}

Maybe<Shape> PooledShape(const InferContext& context, const Shape& input, const PoolAttrs& attrs) {
  const int spatial = attrs.kernel.count;
  JUST(CheckSpatialList(context, "kernel_size", attrs.kernel, spatial, 1));
  JUST(CheckSpatialList(context, "stride", attrs.stride, spatial, 1));
  JUST(CheckSpatialList(context, "padding", attrs.padding, spatial, 0));
  JUST(CheckSpatialList(context, "dilation", attrs.dilation, spatial, 1));
  Shape out = input;
  for (int d = 0; d < spatial; ++d) {
    if (Wide{2} * attrs.padding[d] > attrs.kernel[d]) {
      return RuntimeError("[{}] expects padding of at most half of kernel_size, got padding {} and "
                          "kernel_size {}",
                          context.op, attrs.padding.ToDims(), attrs.kernel.ToDims());
    }
    JUST(PaddedSize(context, d, input[d + 2], attrs.padding[d], attrs.padding[d]));
    const int64_t reach = WindowReach(attrs.kernel[d], attrs.dilation[d]);
    out[d + 2] =
        PooledSize(input[d + 2], reach, attrs.stride[d], attrs.padding[d], attrs.ceil_mode);
    if (out[d + 2] < 1) {
      return RuntimeError(
          "[{}] expects windows no larger than the padded input, got kernel_size {}, "
          "dilation {} and padding {} for input {}",
          context.op, attrs.kernel.ToDims(), attrs.dilation.ToDims(), attrs.padding.ToDims(),
          input);
    }
  }
  return out;
}

// Input 0 with its spatial sizes replaced.
Maybe<Shape> Resized(const InferContext& context, const SpatialList& size) {
  JUST(CheckSpatialInput(context, 0, size.count));
  Shape shape = context.inputs[0]->shape;
  for (int d = 0; d < size.count; ++d) {
    if (size[d] < 0) {
      return RuntimeError("[{}] expects sizes that are not negative, got {}", context.op,
                          size.ToDims());
    }
    shape[d + 2] = size[d];
  }
  return shape;
}

// Something must be there to choose from, or to average.
Maybe<void> CheckPixels(const InferContext& context, const Shape& input, const Shape& output) {
  if (ElementCount(output) == 0) { return Ok(); }
  for (int d = 2; d < input.size(); ++d) {
    if (input[d] == 0) {
      return RuntimeError("[{}] expects spatial sizes of at least 1, got input {}", context.op,
                          input);
    }
  }
  return Ok();
}

Maybe<void> CheckIndices(const InferContext& context) {
  if (context.inputs[1]->dtype == DataType::kInt64) { return Ok(); }
  return RuntimeError("[{}] expects indices of dtype int64, got {}", context.op,
                      DataTypeName(context.inputs[1]->dtype));
}

}  // namespace

Maybe<void> InferMaxPool(const InferContext& context, TensorMeta* outputs) {
  outputs[1].dtype = DataType::kInt64;
  JUST(InferAvgPool(context, outputs));
  outputs[1].shape = outputs[0].shape;
  return Ok();
}

Maybe<void> InferAvgPool(const InferContext& context, TensorMeta* outputs) {
  const auto& attrs = context.GetAttrs<PoolAttrs>();
  JUST(CheckFloating(context, 0));
  JUST(CheckSpatialInput(context, 0, attrs.kernel.count));
  outputs[0].shape = JUST(PooledShape(context, context.inputs[0]->shape, attrs));
  return Ok();
}

Maybe<void> InferAvgPoolGrad(const InferContext& context, TensorMeta* outputs) {
  const auto& attrs = context.GetAttrs<PoolAttrs>();
  JUST(CheckFloating(context, 0));
  const Shape shape = JUST(Resized(context, attrs.size));
  const Shape pooled = JUST(PooledShape(context, shape, attrs));
  JUST(CheckShape(context, 0, pooled));
  outputs[0].shape = shape;
  return Ok();
}

Maybe<void> InferAdaptivePool(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckFloating(context, 0));
  outputs[0].shape = JUST(Resized(context, context.GetAttrs<SpatialSizeAttrs>().size));
  return CheckPixels(context, context.inputs[0]->shape, outputs[0].shape);
}

Maybe<void> InferAdaptiveMaxPool(const InferContext& context, TensorMeta* outputs) {
  JUST(InferAdaptivePool(context, outputs));
  outputs[1].shape = outputs[0].shape;
  outputs[1].dtype = DataType::kInt64;
  return Ok();
}

Maybe<void> InferScatterPixels(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckIndices(context));
  JUST(CheckShape(context, 1, context.inputs[0]->shape));
  outputs[0].shape = JUST(Resized(context, context.GetAttrs<SpatialSizeAttrs>().size));
  return Ok();
}

Maybe<void> InferGatherPixels(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckIndices(context));
  const Shape& input = context.inputs[0]->shape;
  const Shape& indices = context.inputs[1]->shape;
  if (input.size() < 3 || indices.size() != input.size() || indices[0] != input[0] ||
      indices[1] != input[1]) {
    return RuntimeError(
        "[{}] expects input and indices of one batch and number of channels, got {} "
        "and {}",
        context.op, input, indices);
  }
  outputs[0].shape = indices;
  return Ok();
}

}  // namespace oneflow
