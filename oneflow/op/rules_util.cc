#include "oneflow/op/rules_util.h"

namespace oneflow {

Maybe<void> CheckFloating(const InferContext& context, int i) {
  const DataType dtype = context.inputs[i]->dtype;
  if (!IsFloating(dtype)) {
    return RuntimeError("[{}] expects a tensor of a floating dtype, got {} {}", context.op,
                        DataTypeName(dtype), context.inputs[i]->shape);
  }
  return Ok();
}

Maybe<void> CheckSameDtype(const InferContext& context) {
  for (int i = 1; i < context.num_inputs; ++i) {
    if (context.inputs[i] != nullptr && context.inputs[i]->dtype != context.inputs[0]->dtype) {
      return RuntimeError("[{}] expects operands of one dtype, got {} {} and {} {}", context.op,
                          DataTypeName(context.inputs[0]->dtype), context.inputs[0]->shape,
                          DataTypeName(context.inputs[i]->dtype), context.inputs[i]->shape);
    }
  }
  return Ok();
}

Maybe<void> CheckShape(const InferContext& context, int i, const Shape& expected) {
  if (context.inputs[i]->shape != expected) {
    return RuntimeError("[{}] expects operand {} of shape {}, got {}", context.op, i, expected,
                        context.inputs[i]->shape);
  }
  return Ok();
}

}  // namespace oneflow
