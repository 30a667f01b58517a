#include "oneflow/op/rules_math.h"

namespace oneflow {

namespace {

Maybe<void> CheckBool(const InferContext& context, int i) {
  const TensorMeta& mask = *context.inputs[i];
  if (IsBool(mask.dtype)) { return Ok(); }
  return RuntimeError("[{}] expects a mask of dtype bool, got {} of shape {}", context.op,
                      DataTypeName(mask.dtype), mask.shape);
}

Maybe<void> BroadcastAll(const InferContext& context, TensorMeta* outputs) {
  Shape shape = context.inputs[0]->shape;
  for (int i = 1; i < context.num_inputs; ++i) {
    if (context.inputs[i]->shape == shape) { continue; }
    const Shape both = JUST(BroadcastShapes(context.op, shape, context.inputs[i]->shape));
    shape = both;
  }
  outputs[0].shape = shape;
  return Ok();
}

}  // namespace

Maybe<void> InferWhere(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckBool(context, 0));
  const DataType dtype = context.inputs[1]->dtype;
  if (context.inputs[2]->dtype != dtype) {
    return RuntimeError("[{}] expects x and y of one dtype, got {} and {}", context.op,
                        DataTypeName(dtype), DataTypeName(context.inputs[2]->dtype));
  }
  outputs[0].dtype = dtype;
  return BroadcastAll(context, outputs);
}

Maybe<void> InferMaskedFill(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckBool(context, 1));
  return BroadcastAll(context, outputs);
}

}  // namespace oneflow
