#include "oneflow/op/rules_spatial.h"
#include "oneflow/op/rules_util.h"

namespace oneflow {

namespace {

constexpr int kDims = 5;

bool IsBlocked(const Shape& shape) {
  return shape.size() == kDims && shape[kDims - 1] == kChannelBlock;
}

Shape Unblocked(const Shape& s) { return {s[0], s[1] * kChannelBlock, s[2], s[3]}; }
Shape Blocked(const Shape& s) { return {s[0], s[1] / kChannelBlock, s[2], s[3], kChannelBlock}; }

Maybe<void> CheckBlocked(const InferContext& context, int i) {
  const Shape& shape = context.inputs[i]->shape;
  if (IsBlocked(shape)) { return Ok(); }
  return RuntimeError("[{}] expects input {} of shape (N, C / {}, H, W, {}), got {}", context.op, i,
                      kChannelBlock, kChannelBlock, shape);
}

// (N, C, H, W) of whole blocks.
Maybe<void> CheckWhole(const InferContext& context, const Shape& shape) {
  if (shape.size() == 4 && shape[1] % kChannelBlock == 0) { return Ok(); }
  return RuntimeError("[{}] expects an array (N, C, H, W) with a multiple of {} channels, got {}",
                      context.op, kChannelBlock, shape);
}

// Applies the rule of plain arrays to the shapes that blocked operands stand for.
Maybe<void> InferAsPlain(const InferContext& context, InferFn rule, TensorMeta* outputs) {
  constexpr int kMost = 3;
  TensorMeta metas[kMost];
  const TensorMeta* inputs[kMost] = {};
  for (int i = 0; i < context.num_inputs && i < kMost; ++i) {
    if (context.inputs[i] == nullptr) { continue; }
    metas[i] = *context.inputs[i];
    if (IsBlocked(metas[i].shape)) { metas[i].shape = Unblocked(metas[i].shape); }
    inputs[i] = &metas[i];
  }
  const InferContext plain{context.op, inputs, context.num_inputs, context.attrs};
  return rule(plain, outputs);
}

}  // namespace

Maybe<void> InferBlockChannels(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckWhole(context, context.inputs[0]->shape));
  outputs[0].shape = Blocked(context.inputs[0]->shape);
  return Ok();
}

Maybe<void> InferUnblockChannels(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckBlocked(context, 0));
  outputs[0].shape = Unblocked(context.inputs[0]->shape);
  return Ok();
}

Maybe<void> InferBlockedConvolution(const InferContext& context, TensorMeta* outputs) {
  if (context.inputs[0]->shape.size() != 4) { JUST(CheckBlocked(context, 0)); }
  JUST(InferAsPlain(context, &InferConvolution, outputs));
  JUST(CheckWhole(context, outputs[0].shape));
  outputs[0].shape = Blocked(outputs[0].shape);
  return Ok();
}

Maybe<void> InferBlockedConvInputGrad(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckBlocked(context, 0));
  JUST(InferAsPlain(context, &InferConvInputGrad, outputs));
  JUST(CheckWhole(context, outputs[0].shape));
  outputs[0].shape = Blocked(outputs[0].shape);
  return Ok();
}

Maybe<void> InferBlockedConvWeightGrad(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckBlocked(context, 0));
  if (context.inputs[1]->shape.size() != 4) { JUST(CheckBlocked(context, 1)); }
  return InferAsPlain(context, &InferConvWeightGrad, outputs);
}

Maybe<void> InferBlockedMaxPool(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckBlocked(context, 0));
  JUST(InferAsPlain(context, &InferMaxPool, outputs));
  outputs[0].shape = outputs[1].shape = Blocked(outputs[0].shape);
  outputs[1].dtype = DataType::kInt32;
  return Ok();
}

Maybe<void> InferBlockedMaxPoolBackward(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckBlocked(context, 0));
  const Shape& grad = context.inputs[0]->shape;
  const TensorMeta& pixels = *context.inputs[1];
  const SpatialList& size = context.GetAttrs<SpatialSizeAttrs>().size;
  if (pixels.shape != grad || pixels.dtype != DataType::kInt32 || size.count != 2) {
    return RuntimeError("[{}] expects int32 indices of the gradient's shape {} and two sizes, got "
                        "{} {} and {}",
                        context.op, grad, DataTypeName(pixels.dtype), pixels.shape, size.ToDims());
  }
  outputs[0].shape = Shape{grad[0], grad[1], size[0], size[1], kChannelBlock};
  return Ok();
}

}  // namespace oneflow
