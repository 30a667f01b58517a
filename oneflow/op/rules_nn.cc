#include "oneflow/op/op_attrs.h"
#include "oneflow/op/rules.h"
#include "oneflow/op/rules_util.h"

namespace oneflow {

namespace {

Maybe<void> CheckIntegral(const InferContext& context, int i, const char* what) {
  const DataType dtype = context.inputs[i]->dtype;
  if (dtype != DataType::kInt64 && dtype != DataType::kInt32) {
    return RuntimeError("[{}] expects {} of dtype int64 or int32, got {} {}", context.op, what,
                        DataTypeName(dtype), context.inputs[i]->shape);
  }
  return Ok();
}

Maybe<void> CheckNllOperands(const InferContext& context, int input, int target, int weight) {
  const Shape& shape = context.inputs[input]->shape;
  JUST(CheckFloating(context, input));
  JUST(CheckIntegral(context, target, "class indices"));
  if (shape.size() != 2) {
    return RuntimeError("[{}] expects an input of shape (N, C), got {}", context.op, shape);
  }
  if (context.inputs[target]->shape != Shape{shape[0]}) {
    return RuntimeError("[{}] expects a target of shape {} for input {}, got {}", context.op,
                        Shape{shape[0]}, shape, context.inputs[target]->shape);
  }
  if (weight < context.num_inputs && context.inputs[weight] != nullptr) {
    const TensorMeta& given = *context.inputs[weight];
    if (given.shape != Shape{shape[1]} || given.dtype != context.inputs[input]->dtype) {
      return RuntimeError("[{}] expects a weight of shape {} and dtype {}, got {} {}", context.op,
                          Shape{shape[1]}, DataTypeName(context.inputs[input]->dtype),
                          DataTypeName(given.dtype), given.shape);
    }
  }
  return Ok();
}

}  // namespace

Maybe<void> InferMatmul(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckSameDtype(context));
  const Shape& a = context.inputs[0]->shape;
  const Shape& b = context.inputs[1]->shape;
  if (a.size() < 2 || b.size() < 2) {
    return RuntimeError("[{}] expects operands of at least 2 dimensions, got {} and {}", context.op,
                        a, b);
  }
  const int64_t m = a[a.size() - 2];
  const int64_t k = a.back();
  const int64_t n = b.back();
  if (b[b.size() - 2] != k) {
    return RuntimeError("[{}] expects the last size of the first operand to be the last but one of "
                        "the second, got {} and {}",
                        context.op, a, b);
  }
  if (a.size() == 2 && b.size() == 2) {
    outputs[0].shape = Shape{m, n};
    return Ok();
  }
  Shape shape = JUST(
      BroadcastShapes(context.op, Shape(a.data(), a.size() - 2), Shape(b.data(), b.size() - 2)));
  shape.PushBack(m);
  shape.PushBack(n);
  outputs[0].shape = shape;
  return Ok();
}

Maybe<void> InferLinear(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckSameDtype(context));
  const Shape& x = context.inputs[0]->shape;
  const Shape& weight = context.inputs[1]->shape;
  if (x.size() < 1 || weight.size() != 2 || weight[1] != x.back()) {
    return RuntimeError("[{}] expects input (..., in) and weight (out, in), got {} and {}",
                        context.op, x, weight);
  }
  if (context.num_inputs > 2 && context.inputs[2] != nullptr) {
    JUST(CheckShape(context, 2, Shape{weight[0]}));
  }
  outputs[0].shape = x;
  outputs[0].shape[x.size() - 1] = weight[0];
  return Ok();
}

Maybe<void> InferLogSoftmax(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckFloating(context, 0));
  return InferSameShape(context, outputs);
}

Maybe<void> InferNllLoss(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckNllOperands(context, 0, 1, 2));
  const bool none = context.GetAttrs<NllLossAttrs>().reduction == Reduction::kNone;
  outputs[0].shape = none ? context.inputs[1]->shape : Shape();
  outputs[1].shape = Shape();
  return Ok();
}

Maybe<void> InferNllLossBackward(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckNllOperands(context, 1, 2, 3));
  outputs[0].shape = context.inputs[1]->shape;
  return Ok();
}

Maybe<void> InferUpdate(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckFloating(context, 0));
  return InferSameShape(context, outputs);
}

Maybe<void> InferUpdateWithState(const InferContext& context, TensorMeta* outputs) {
  outputs[1].shape = context.inputs[0]->shape;
  return InferUpdate(context, outputs);
}

}  // namespace oneflow
