#include "oneflow/op/op_attrs.h"
#include "oneflow/op/rules.h"
#include "oneflow/op/rules_util.h"

namespace oneflow {

Maybe<void> InferUnary(const InferContext& context, TensorMeta* outputs) {
  outputs[0].shape = context.inputs[0]->shape;
  return Ok();
}

Maybe<void> InferFloatingUnary(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckFloating(context, 0));
  return InferUnary(context, outputs);
}

Maybe<void> InferUnaryToBool(const InferContext& context, TensorMeta* outputs) {
  outputs[0].dtype = DataType::kBool;
  return InferUnary(context, outputs);
}

Maybe<void> InferBroadcast(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckSameDtype(context));
  const Shape& first = context.inputs[0]->shape;
  if (context.num_inputs == 2 && context.inputs[1]->shape == first) {
    outputs[0].shape = first;
    return Ok();
  }
  Shape shape = first;
  for (int i = 1; i < context.num_inputs; ++i) {
    shape = JUST(BroadcastShapes(context.op, shape, context.inputs[i]->shape));
  }
  outputs[0].shape = shape;
  return Ok();
}

Maybe<void> InferFloatingBroadcast(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckFloating(context, 0));
  return InferBroadcast(context, outputs);
}

Maybe<void> InferBroadcastToBool(const InferContext& context, TensorMeta* outputs) {
  outputs[0].dtype = DataType::kBool;
  return InferBroadcast(context, outputs);
}

Maybe<void> InferSameShape(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckSameDtype(context));
  for (int i = 1; i < context.num_inputs; ++i) {
    if (context.inputs[i] != nullptr) { JUST(CheckShape(context, i, context.inputs[0]->shape)); }
  }
  return InferUnary(context, outputs);
}

Maybe<void> InferCast(const InferContext& context, TensorMeta* outputs) {
  outputs[0].dtype = context.GetAttrs<CastAttrs>().dtype;
  return InferUnary(context, outputs);
}

}  // namespace oneflow
