#include "oneflow/core/saturated.h"
#include "oneflow/op/rules_spatial.h"
#include "oneflow/op/rules_util.h"

namespace oneflow {

namespace {

Maybe<void> CheckLists(const InferContext& context, const ConvAttrs& attrs, int spatial) {
  JUST(CheckSpatialList(context, "stride", attrs.stride, spatial, 1));
  JUST(CheckSpatialList(context, "padding", attrs.padding, spatial, 0));
  JUST(CheckSpatialList(context, "dilation", attrs.dilation, spatial, 1));
  if (attrs.padding_after.count != spatial) {
    return RuntimeError("[{}] expects as much padding behind as before, got {} and {}", context.op,
                        attrs.padding_after.ToDims(), attrs.padding.ToDims());
  }
  if (attrs.groups < 1) {
    return RuntimeError("[{}] expects at least one group, got groups {}", context.op, attrs.groups);
  }
  return Ok();
}

Maybe<void> CheckBias(const InferContext& context, int64_t channels) {
  if (context.num_inputs < 3 || context.inputs[2] == nullptr) { return Ok(); }
  const Shape& bias = context.inputs[2]->shape;
  if (bias != Shape{channels}) {
    return RuntimeError("[{}] expects bias of shape ({},), one number for each output channel, got "
                        "bias {} for weight {}",
                        context.op, channels, bias, context.inputs[1]->shape);
  }
  return Ok();
}

// Sizes that a convolution of `input` with `weight` gives.
Maybe<Shape> ConvolvedShape(const InferContext& context, const Shape& input, const Shape& weight,
                            const ConvAttrs& attrs) {
  const int64_t groups = attrs.groups;
  if (weight.size() != input.size()) {
    return RuntimeError("[{}] expects weight of {} dimensions, got weight {} for input {}",
                        context.op, input.size(), weight, input);
  }
  if (SaturatedProduct(weight[1], groups) != input[1]) {
    if (groups == 1) {
      return RuntimeError("[{}] expects weight with {} input channels, got weight {} for input {}",
                          context.op, input[1], weight, input);
    }
    return RuntimeError("[{}] expects weight with {} / {} input channels (channels of the input by "
                        "groups), got weight {} for input {}",
                        context.op, input[1], groups, weight, input);
  }
  if (weight[0] % groups != 0) {
    return RuntimeError("[{}] expects a number of output channels that {} groups divide, got "
                        "weight {}",
                        context.op, groups, weight);
  }
  Shape out = input;
  out[1] = weight[0];
  for (int d = 0; d + 2 < input.size(); ++d) {
    const int64_t reach = WindowReach(weight[d + 2], attrs.dilation[d]);
    const int64_t padded =
        JUST(PaddedSize(context, d, input[d + 2], attrs.padding[d], attrs.padding_after[d]));
    if (weight[d + 2] < 1 || padded < reach) {
      return RuntimeError("[{}] expects a kernel of 1 to {} (the padded input's size) in spatial "
                          "dimension {}, got {} with dilation {}: input {}, weight {}; use more "
                          "padding or a smaller kernel",
                          context.op, padded, d, weight[d + 2], attrs.dilation[d], input, weight);
    }
    out[d + 2] = (padded - reach) / attrs.stride[d] + 1;
  }
  return out;
}

Maybe<void> CheckGradFits(const InferContext& context, const Shape& expected) {
  const Shape& grad = context.inputs[0]->shape;
  if (grad == expected) { return Ok(); }
  return RuntimeError("[{}] expects a gradient of shape {}, got {}", context.op, expected, grad);
}

}  // namespace

Maybe<void> CheckSpatialInput(const InferContext& context, int i, int expected) {
  const Shape& shape = context.inputs[i]->shape;
  const int spatial = shape.size() - 2;
  if (spatial < 1 || spatial > kMaxSpatialDims || (expected != 0 && spatial != expected)) {
    if (expected != 0) {
      return RuntimeError("[{}] expects input of {} dimensions (N, C, and {} spatial), got {}",
                          context.op, expected + 2, expected, shape);
    }
    return RuntimeError(
        "[{}] expects input of 3 to 5 dimensions (N, C, and 1 to 3 spatial), got {}", context.op,
        shape);
  }
  return Ok();
}

Maybe<void> CheckSpatialList(const InferContext& context, const char* what, const SpatialList& list,
                             int spatial, int64_t least) {
  if (list.count != spatial) {
    return RuntimeError("[{}] expects {} of {} numbers, one for each spatial dimension, got {}",
                        context.op, what, spatial, list.ToDims());
  }
  for (int d = 0; d < spatial; ++d) {
    if (list[d] < least) {
      return RuntimeError("[{}] expects {} of at least {}, got {}", context.op, what, least,
                          list.ToDims());
    }
  }
  return Ok();
}

Maybe<int64_t> PaddedSize(const InferContext& context, int d, int64_t size, int64_t before,
                          int64_t after) {
  const int64_t padded = Saturated(Wide{size} + before + after);
  if (padded <= kMostPadded) { return padded; }
  return RuntimeError(
      "[{}] expects at most 2^48 elements with the padding in spatial dimension {}, "
      "got size {} with padding {} and {}",
      context.op, d, size, before, after);
}

Maybe<void> InferConvolution(const InferContext& context, TensorMeta* outputs) {
  const auto& attrs = context.GetAttrs<ConvAttrs>();
  JUST(CheckFloating(context, 0));
  JUST(CheckSameDtype(context));
  JUST(CheckSpatialInput(context, 0, 0));
  const Shape& input = context.inputs[0]->shape;
  JUST(CheckLists(context, attrs, input.size() - 2));
  outputs[0].shape = JUST(ConvolvedShape(context, input, context.inputs[1]->shape, attrs));
  return CheckBias(context, outputs[0].shape[1]);
}

Maybe<void> InferConvInputGrad(const InferContext& context, TensorMeta* outputs) {
  const auto& attrs = context.GetAttrs<ConvAttrs>();
  JUST(CheckFloating(context, 0));
  JUST(CheckSameDtype(context));
  JUST(CheckSpatialInput(context, 0, attrs.size.count));
  const Shape& grad = context.inputs[0]->shape;
  const Shape& weight = context.inputs[1]->shape;
  JUST(CheckLists(context, attrs, attrs.size.count));
  if (weight.size() != grad.size() || weight[0] != grad[1]) {
    return RuntimeError("[{}] expects weight with {} input channels and {} dimensions, got weight "
                        "{} for input {}",
                        context.op, grad[1], grad.size(), weight, grad);
  }
  if (grad[1] % attrs.groups != 0) {
    return RuntimeError("[{}] expects a number of channels that {} groups divide, got input {}",
                        context.op, attrs.groups, grad);
  }
  Shape shape = grad;
  shape[1] = SaturatedProduct(weight[1], attrs.groups);
  for (int d = 0; d < attrs.size.count; ++d) {
    if (attrs.size[d] < 0) {
      return RuntimeError(
          "[{}] expects sizes that are not negative, got {} for input {} and weight "
          "{}; use less padding",
          context.op, attrs.size.ToDims(), grad, weight);
    }
    shape[d + 2] = attrs.size[d];
  }
  JUST(CheckBias(context, shape[1]));
  outputs[0].shape = shape;
  // A result without elements has nothing to say about the windows.
  for (int d = 0; d < attrs.size.count; ++d) {
    if (attrs.size[d] == 0) { return Ok(); }
  }
  return CheckGradFits(context, JUST(ConvolvedShape(context, shape, weight, attrs)));
}

Maybe<void> InferConvWeightGrad(const InferContext& context, TensorMeta* outputs) {
  const auto& attrs = context.GetAttrs<ConvAttrs>();
  JUST(CheckFloating(context, 0));
  JUST(CheckSameDtype(context));
  JUST(CheckSpatialInput(context, 1, attrs.size.count));
  const Shape& grad = context.inputs[0]->shape;
  const Shape& input = context.inputs[1]->shape;
  JUST(CheckLists(context, attrs, attrs.size.count));
  if (grad.size() != input.size() || input[1] % attrs.groups != 0) {
    return RuntimeError("[{}] expects channels that {} groups divide, got gradient {} for input {}",
                        context.op, attrs.groups, grad, input);
  }
  Shape weight = input;
  weight[0] = grad[1];
  weight[1] = input[1] / attrs.groups;
  for (int d = 0; d < attrs.size.count; ++d) { weight[d + 2] = attrs.size[d]; }
  outputs[0].shape = weight;
  return CheckGradFits(context, JUST(ConvolvedShape(context, input, weight, attrs)));
}

// ---- unfold and fold ----------------------------------------------------------------------------

namespace {

// How many positions the windows have over `size`; checks all lists.
Maybe<int64_t> CountWindows(const InferContext& context, const UnfoldAttrs& attrs,
                            const int64_t* size) {
  JUST(CheckSpatialList(context, "kernel_size", attrs.kernel, 2, 1));
  JUST(CheckSpatialList(context, "dilation", attrs.dilation, 2, 1));
  JUST(CheckSpatialList(context, "padding", attrs.padding, 2, 0));
  JUST(CheckSpatialList(context, "stride", attrs.stride, 2, 1));
  int64_t count = 1;
  for (int d = 0; d < 2; ++d) {
    const int64_t reach = WindowReach(attrs.kernel[d], attrs.dilation[d]);
    const int64_t padded =
        JUST(PaddedSize(context, d, size[d], attrs.padding[d], attrs.padding[d]));
    if (padded < reach) {
      return RuntimeError("[{}] expects a kernel no larger than the padded input, got kernel_size "
                          "{}, dilation {} and padding {} for spatial sizes {}",
                          context.op, attrs.kernel.ToDims(), attrs.dilation.ToDims(),
                          attrs.padding.ToDims(), Dims(size, 2));
    }
    count = SaturatedProduct(count, (padded - reach) / attrs.stride[d] + 1);
  }
  return count;
}

}  // namespace

Maybe<void> InferUnfold(const InferContext& context, TensorMeta* outputs) {
  const auto& attrs = context.GetAttrs<UnfoldAttrs>();
  JUST(CheckFloating(context, 0));
  JUST(CheckSpatialInput(context, 0, 2));
  const Shape& input = context.inputs[0]->shape;
  const int64_t windows = JUST(CountWindows(context, attrs, input.data() + 2));
  const int64_t pixels = SaturatedProduct(attrs.kernel[0], attrs.kernel[1]);
  outputs[0].shape = Shape{input[0], SaturatedProduct(input[1], pixels), windows};
  return Ok();
}

Maybe<void> InferFold(const InferContext& context, TensorMeta* outputs) {
  const auto& attrs = context.GetAttrs<UnfoldAttrs>();
  JUST(CheckFloating(context, 0));
  JUST(CheckSpatialInput(context, 0, 1));
  JUST(CheckSpatialList(context, "output_size", attrs.size, 2, 1));
  const Shape& input = context.inputs[0]->shape;
  const int64_t windows = JUST(CountWindows(context, attrs, attrs.size.values));
  const int64_t pixels = SaturatedProduct(attrs.kernel[0], attrs.kernel[1]);
  if (input[1] % pixels != 0 || input[2] != windows) {
    return RuntimeError("[{}] expects input (N, C * {}, {}) for output_size {} and kernel_size {}, "
                        "got {}",
                        context.op, pixels, windows, attrs.size.ToDims(), attrs.kernel.ToDims(),
                        input);
  }
  outputs[0].shape = Shape{input[0], input[1] / pixels, attrs.size[0], attrs.size[1]};
  return Ok();
}

}  // namespace oneflow
