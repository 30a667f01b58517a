#include "oneflow/op/op_attrs.h"
#include "oneflow/op/rules.h"

namespace oneflow {

namespace {

Maybe<void> SetShape(const InferContext& context, const IntList& shape, TensorMeta* output) {
  output->shape = shape.ToDims();
  JUST(CheckedBytes(context.op, output->shape, output->dtype));
  return Ok();
}

Maybe<void> CheckFloatingOutput(const InferContext& context, const TensorMeta& output) {
  if (!IsFloating(output.dtype)) {
    return NotImplementedError("[{}] expects a floating dtype, got {}", context.op,
                               DataTypeName(output.dtype));
  }
  return Ok();
}

}  // namespace

Maybe<void> InferEmpty(const InferContext& context, TensorMeta* outputs) {
  return SetShape(context, context.GetAttrs<ShapeAttrs>().shape, outputs);
}

Maybe<void> InferFull(const InferContext& context, TensorMeta* outputs) {
  return SetShape(context, context.GetAttrs<FullAttrs>().shape, outputs);
}

Maybe<void> InferArange(const InferContext& context, TensorMeta* outputs) {
  outputs[0].shape = Shape{context.GetAttrs<ArangeOpAttrs>().count};
  JUST(CheckedBytes(context.op, outputs[0].shape, outputs[0].dtype));
  return Ok();
}

Maybe<void> InferRandn(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckFloatingOutput(context, outputs[0]));
  return SetShape(context, context.GetAttrs<RandnAttrs>().shape, outputs);
}

Maybe<void> InferRand(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckFloatingOutput(context, outputs[0]));
  return SetShape(context, context.GetAttrs<RandAttrs>().shape, outputs);
}

}  // namespace oneflow
