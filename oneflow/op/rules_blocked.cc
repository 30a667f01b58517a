#include "oneflow/op/rules_spatial.h"
#include "oneflow/op/rules_util.h"

namespace oneflow {

namespace {

constexpr int kDims = 5;

bool IsBlocked(const Shape& shape) {
  return shape.size() == kDims && shape[kDims - 1] == kChannelBlock;
}

// A weight (O / 16, C / 16, H, W, 16, 16).
bool IsBlockedFilter(const Shape& shape) {
  return shape.size() == kDims + 1 && shape[kDims - 1] == kChannelBlock &&
         shape[kDims] == kChannelBlock;
}

Shape BlockedFilter(const Shape& s) {
  return {s[0] / kChannelBlock, s[1] / kChannelBlock, s[2], s[3], kChannelBlock, kChannelBlock};
}
Shape UnblockedFilter(const Shape& s) {
  return {s[0] * kChannelBlock, s[1] * kChannelBlock, s[2], s[3]};
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
    const Shape shape = metas[i].shape;
    if (IsBlocked(shape)) { metas[i].shape = Unblocked(shape); }
    if (IsBlockedFilter(shape)) { metas[i].shape = UnblockedFilter(shape); }
    inputs[i] = &metas[i];
  }
  const InferContext plain{context.op, inputs, context.num_inputs, context.attrs};
  return rule(plain, outputs);
}

// The same for a convolution with a weight, which may be float32 beside bfloat16.
Maybe<void> InferWithWeight(const InferContext& context, InferFn rule, TensorMeta* outputs) {
  TensorMeta weight = *context.inputs[1];
  const DataType dtype = context.inputs[0]->dtype;
  if (dtype == DataType::kBFloat16 && weight.dtype == DataType::kFloat) { weight.dtype = dtype; }
  const TensorMeta* inputs[] = {context.inputs[0], &weight};
  return InferAsPlain({context.op, inputs, 2, context.attrs}, rule, outputs);
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
  JUST(InferWithWeight(context, &InferConvolution, outputs));
  JUST(CheckWhole(context, outputs[0].shape));
  outputs[0].shape = Blocked(outputs[0].shape);
  return Ok();
}

Maybe<void> InferBlockedConvInputGrad(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckBlocked(context, 0));
  JUST(InferWithWeight(context, &InferConvInputGrad, outputs));
  JUST(CheckWhole(context, outputs[0].shape));
  outputs[0].shape = Blocked(outputs[0].shape);
  return Ok();
}

Maybe<void> InferBlockedConvWeightGrad(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckBlocked(context, 0));
  if (context.inputs[1]->shape.size() != 4) { JUST(CheckBlocked(context, 1)); }
  JUST(InferAsPlain(context, &InferConvWeightGrad, outputs));
  if (context.GetAttrs<ConvAttrs>().blocked) {
    const Shape plain = outputs[0].shape;
    JUST(CheckWhole(context, plain));
    JUST(CheckWhole(context, Shape{1, plain[0], 1, 1}));
    outputs[0].shape = BlockedFilter(plain);
  }
  if (!context.GetAttrs<ConvAttrs>().float_weight) { return Ok(); }
  const DataType dtype = context.inputs[0]->dtype;
  if (dtype != DataType::kBFloat16) {
    return RuntimeError("[{}] expects bfloat16 where the result is float32, got {}", context.op,
                        DataTypeName(dtype));
  }
  outputs[0].dtype = DataType::kFloat;
  return Ok();
}

Maybe<void> InferBlockedMaxPool(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckBlocked(context, 0));
  JUST(InferAsPlain(context, &InferMaxPool, outputs));
  outputs[0].shape = outputs[1].shape = Blocked(outputs[0].shape);
  outputs[1].dtype = DataType::kUInt8;
  const SpatialList& kernel = context.GetAttrs<PoolAttrs>().kernel;
  if (kernel[0] <= kMostPooled && kernel[1] <= kMostPooled / kernel[0]) { return Ok(); }
  return RuntimeError("[{}] expects windows of at most {} elements, got {}", context.op,
                      kMostPooled, kernel.ToDims());
}

Maybe<void> InferBlockedMaxPoolBackward(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckBlocked(context, 0));
  const Shape& grad = context.inputs[0]->shape;
  const TensorMeta& numbers = *context.inputs[1];
  const SpatialList& size = context.GetAttrs<PoolAttrs>().size;
  if (numbers.shape != grad || numbers.dtype != DataType::kUInt8 || size.count != 2) {
    return RuntimeError("[{}] expects uint8 numbers of the gradient's shape {} and two sizes, got "
                        "{} {} and {}",
                        context.op, grad, DataTypeName(numbers.dtype), numbers.shape,
                        size.ToDims());
  }
  outputs[0].shape = Shape{grad[0], grad[1], size[0], size[1], kChannelBlock};
  return Ok();
}

}  // namespace oneflow
