#include "oneflow/op/rules_norm.h"

#include "oneflow/kernels/attrs_norm.h"
#include "oneflow/kernels/attrs_spatial.h"
#include "oneflow/op/rules.h"
#include "oneflow/op/rules_util.h"

namespace oneflow {

namespace {

const TensorMeta* Given(const InferContext& context, int i) {
  return i < context.num_inputs ? context.inputs[i] : nullptr;
}

// Of statistics, which are computed in float32 for the short dtypes.
DataType StatsDtype(DataType dtype) {
  return dtype == DataType::kDouble ? DataType::kDouble : DataType::kFloat;
}

void SetStats(TensorMeta* meta, DataType dtype, const Shape& shape) {
  meta->dtype = StatsDtype(dtype);
  meta->shape = shape;
}

// A floating operand of this shape, if it was given.
Maybe<void> CheckParameter(const InferContext& context, int i, const char* what,
                           const Shape& expected) {
  const TensorMeta* given = Given(context, i);
  if (given == nullptr) { return Ok(); }
  if (given->shape != expected || !IsFloating(given->dtype)) {
    return RuntimeError("[{}] expects {} of shape {} and a floating dtype for input {}, got {} {}",
                        context.op, what, expected, context.inputs[0]->shape,
                        DataTypeName(given->dtype), given->shape);
  }
  return Ok();
}

Maybe<void> CheckAxis(const InferContext& context, int64_t axis, int64_t ndim, int64_t least) {
  if (ndim >= least && axis >= 0 && axis < ndim) { return Ok(); }
  return RuntimeError("[{}] expects an input of at least {} dimensions with a dim {}, got shape {}",
                      context.op, least, axis, context.inputs[0]->shape);
}

Shape Head(const Shape& shape, int64_t end) { return Shape(shape.data(), static_cast<int>(end)); }
Shape Tail(const Shape& shape, int64_t begin) {
  return Shape(shape.data() + begin, shape.size() - static_cast<int>(begin));
}

Shape Channels(const InferContext& context, int x) {
  return Shape{context.inputs[x]->shape[static_cast<int>(context.GetAttrs<BatchNormAttrs>().axis)]};
}

// dy and x of one shape and dtype.
Maybe<void> CheckPair(const InferContext& context) {
  JUST(CheckFloating(context, 0));
  const TensorMeta& dy = *context.inputs[0];
  const TensorMeta& x = *context.inputs[1];
  if (dy.shape == x.shape && dy.dtype == x.dtype) { return Ok(); }
  return RuntimeError("[{}] expects a gradient of the input's shape and dtype {} {}, got {} {}",
                      context.op, DataTypeName(x.dtype), x.shape, DataTypeName(dy.dtype), dy.shape);
}

// dx like dy; the gradients of weight and bias, of this shape, in the weight's dtype.
void SetGradients(const InferContext& context, const Shape& parameter, TensorMeta* outputs) {
  const TensorMeta* weight = Given(context, 2);
  outputs[0].shape = context.inputs[0]->shape;
  for (int i = 1; i < 3; ++i) {
    SetStats(&outputs[i], outputs[0].dtype, parameter);
    if (weight != nullptr) { outputs[i].dtype = weight->dtype; }
  }
}

}  // namespace

Maybe<void> InferLayerNorm(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckFloating(context, 0));
  const Shape& x = context.inputs[0]->shape;
  const int64_t begin = context.GetAttrs<LayerNormAttrs>().begin_axis;
  JUST(CheckAxis(context, begin, x.size(), 1));
  JUST(CheckParameter(context, 1, "a weight", Tail(x, begin)));
  JUST(CheckParameter(context, 2, "a bias", Tail(x, begin)));
  outputs[0].shape = x;
  SetStats(&outputs[1], outputs[0].dtype, Head(x, begin));
  SetStats(&outputs[2], outputs[0].dtype, Head(x, begin));
  return Ok();
}

Maybe<void> InferLayerNormBackward(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckPair(context));
  const Shape& x = context.inputs[1]->shape;
  const int64_t begin = context.GetAttrs<LayerNormAttrs>().begin_axis;
  JUST(CheckAxis(context, begin, x.size(), 1));
  JUST(CheckParameter(context, 2, "a weight", Tail(x, begin)));
  JUST(CheckShape(context, 3, Head(x, begin)));
  JUST(CheckShape(context, 4, Head(x, begin)));
  SetGradients(context, Given(context, 2) == nullptr ? Shape{0} : Tail(x, begin), outputs);
  return Ok();
}

Maybe<void> InferBatchNorm(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckFloating(context, 0));
  const Shape& x = context.inputs[0]->shape;
  JUST(CheckAxis(context, context.GetAttrs<BatchNormAttrs>().axis, x.size(), 2));
  const Shape channels = Channels(context, 0);
  JUST(CheckParameter(context, 1, "a weight", channels));
  JUST(CheckParameter(context, 2, "a bias", channels));
  outputs[0].shape = x;
  SetStats(&outputs[1], outputs[0].dtype, channels);
  SetStats(&outputs[2], outputs[0].dtype, channels);
  return Ok();
}

Maybe<void> InferBatchNormInference(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckFloating(context, 0));
  const Shape& x = context.inputs[0]->shape;
  JUST(CheckAxis(context, context.GetAttrs<BatchNormAttrs>().axis, x.size(), 2));
  const Shape channels = Channels(context, 0);
  const char* const names[] = {"", "a mean", "a variance", "a weight", "a bias"};
  for (int i = 1; i < 5; ++i) { JUST(CheckParameter(context, i, names[i], channels)); }
  outputs[0].shape = x;
  return Ok();
}

Maybe<void> InferBatchNormMoments(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckFloating(context, 0));
  const Shape& x = context.inputs[0]->shape;
  JUST(CheckAxis(context, context.GetAttrs<BatchNormAttrs>().axis, x.size(), 2));
  for (int i = 0; i < 2; ++i) {
    SetStats(&outputs[i], context.inputs[0]->dtype, Channels(context, 0));
  }
  return Ok();
}

Maybe<void> InferBatchNormBackward(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckPair(context));
  const Shape& x = context.inputs[1]->shape;
  JUST(CheckAxis(context, context.GetAttrs<BatchNormAttrs>().axis, x.size(), 2));
  const Shape channels = Channels(context, 1);
  JUST(CheckParameter(context, 2, "a weight", channels));
  JUST(CheckShape(context, 3, channels));
  JUST(CheckShape(context, 4, channels));
  SetGradients(context, channels, outputs);
  return Ok();
}

namespace {

// Of x; it must be (N, C, ...) with places beside the channels, or blocked.
Maybe<Shape> FusedChannels(const InferContext& context, int x) {
  JUST(CheckFloating(context, x));
  const Shape& shape = context.inputs[x]->shape;
  if (context.GetAttrs<FusedBatchNormAttrs>().blocked) {
    const DataType dtype = context.inputs[x]->dtype;
    const bool serves = dtype == DataType::kFloat || dtype == DataType::kBFloat16;
    if (shape.size() == 5 && shape[4] == kChannelBlock && serves) {
      return Shape{shape[1] * kChannelBlock};
    }
    return RuntimeError("[{}] expects a float32 or bfloat16 input (N, C / {}, H, W, {}), got {} {}",
                        context.op, kChannelBlock, kChannelBlock, DataTypeName(dtype), shape);
  }
  if (shape.size() < 3) {
    return RuntimeError("[{}] expects an input (N, C, ...) of at least 3 dimensions, got {}",
                        context.op, shape);
  }
  return Shape{shape[1]};
}

// An operand of x's shape and dtype, if it was given.
Maybe<void> CheckLike(const InferContext& context, int i, int x) {
  const TensorMeta* given = Given(context, i);
  const TensorMeta& like = *context.inputs[x];
  if (given == nullptr || (given->shape == like.shape && given->dtype == like.dtype)) {
    return Ok();
  }
  return RuntimeError("[{}] expects input {} of the input's shape and dtype {} {}, got {} {}",
                      context.op, i, DataTypeName(like.dtype), like.shape,
                      DataTypeName(given->dtype), given->shape);
}

Maybe<void> CheckChannels(const InferContext& context, int i, const Shape& channels) {
  const TensorMeta* given = Given(context, i);
  if (given == nullptr || (given->shape == channels && IsFloating(given->dtype))) { return Ok(); }
  return RuntimeError("[{}] expects input {} of shape {} and a floating dtype, got {} {}",
                      context.op, i, channels, DataTypeName(given->dtype), given->shape);
}

}  // namespace

Maybe<void> InferFusedBatchNorm(const InferContext& context, TensorMeta* outputs) {
  const Shape channels = JUST(FusedChannels(context, 0));
  JUST(CheckChannels(context, 1, channels));
  JUST(CheckChannels(context, 2, channels));
  JUST(CheckLike(context, 3, 0));
  outputs[0].shape = context.inputs[0]->shape;
  SetStats(&outputs[1], outputs[0].dtype, channels);
  SetStats(&outputs[2], outputs[0].dtype, channels);
  return Ok();
}

Maybe<void> InferFusedBatchNormBackward(const InferContext& context, TensorMeta* outputs) {
  constexpr int kX = 2;
  const Shape channels = JUST(FusedChannels(context, kX));
  for (int i : {0, 1, 6}) { JUST(CheckLike(context, i, kX)); }
  for (int i : {3, 4, 5}) { JUST(CheckChannels(context, i, channels)); }
  const bool relu = context.GetAttrs<FusedBatchNormAttrs>().relu;
  if (relu != (Given(context, 6) != nullptr)) {
    return RuntimeError("[{}] expects the result where relu was applied, and only there",
                        context.op);
  }
  outputs[0].shape = context.inputs[kX]->shape;
  for (int i = 1; i < 3; ++i) {
    SetStats(&outputs[i], outputs[0].dtype, channels);
    const TensorMeta* weight = Given(context, 3);
    if (weight != nullptr) { outputs[i].dtype = weight->dtype; }
  }
  return Ok();
}

Maybe<void> InferFusedBatchNormAddBackward(const InferContext& context, TensorMeta* outputs) {
  outputs[3].shape = context.inputs[2]->shape;
  return InferFusedBatchNormBackward(context, outputs);
}

Maybe<void> InferUpdateStats(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckFloating(context, 0));
  const TensorMeta& mean = *context.inputs[0];
  if (mean.shape.size() != 1) {
    return RuntimeError("[{}] expects running statistics of shape (C,), got {}", context.op,
                        mean.shape);
  }
  for (int i = 1; i < 4; ++i) { JUST(CheckShape(context, i, mean.shape)); }
  for (int i = 0; i < 2; ++i) {
    outputs[i].shape = mean.shape;
    outputs[i].dtype = context.inputs[i]->dtype;
  }
  return Ok();
}

namespace {

Maybe<void> CheckGroups(const InferContext& context, const Shape& x) {
  const int64_t groups = context.GetAttrs<GroupNormAttrs>().groups;
  if (x.size() < 2) {
    return RuntimeError("[{}] expects an input (N, C, ...), got {}", context.op, x);
  }
  if (groups < 1 || x[1] % groups != 0) {
    return RuntimeError("[{}] expects a number of channels that num_groups={} divides, got {}",
                        context.op, groups, x);
  }
  return Ok();
}

}  // namespace

Maybe<void> InferGroupNorm(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckFloating(context, 0));
  const Shape& x = context.inputs[0]->shape;
  JUST(CheckGroups(context, x));
  JUST(CheckParameter(context, 1, "a weight", Shape{x[1]}));
  JUST(CheckParameter(context, 2, "a bias", Shape{x[1]}));
  const Shape stats{x[0], context.GetAttrs<GroupNormAttrs>().groups};
  outputs[0].shape = x;
  SetStats(&outputs[1], outputs[0].dtype, stats);
  SetStats(&outputs[2], outputs[0].dtype, stats);
  return Ok();
}

Maybe<void> InferGroupNormBackward(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckPair(context));
  const Shape& x = context.inputs[1]->shape;
  JUST(CheckGroups(context, x));
  JUST(CheckParameter(context, 2, "a weight", Shape{x[1]}));
  const Shape stats{x[0], context.GetAttrs<GroupNormAttrs>().groups};
  JUST(CheckShape(context, 3, stats));
  JUST(CheckShape(context, 4, stats));
  SetGradients(context, Shape{x[1]}, outputs);
  return Ok();
}

Maybe<void> SbpLayerNorm(const InferContext& context, SbpSignatureList* out) {
  const int64_t begin = context.GetAttrs<LayerNormAttrs>().begin_axis;
  const bool backward = context.num_inputs == 5;
  for (int dim = 0; dim < begin; ++dim) {
    SbpSignature signature;
    signature.inputs.assign(static_cast<size_t>(context.num_inputs), Sbp::Broadcast());
    signature.outputs.assign(3, Sbp::Split(dim));
    signature.inputs[0] = Sbp::Split(dim);
    if (backward) {
      for (int i : {1, 3, 4}) { signature.inputs[static_cast<size_t>(i)] = Sbp::Split(dim); }
      signature.outputs[1] = signature.outputs[2] = Sbp::PartialSum();
    }
    out->push_back(signature);
  }
  return SbpBroadcastOnly(context, out);
}

}  // namespace oneflow
