#include "oneflow/op/op_attrs.h"
#include "oneflow/op/rules.h"
#include "oneflow/op/rules_util.h"

namespace oneflow {

namespace {

// Input `target` against log probabilities of shape `x` and dtype `dtype`; `weight` may be missing.
Maybe<void> CheckNllOperands(const InferContext& context, const Shape& x, DataType dtype,
                             int target, int weight) {
  const TensorMeta& classes = *context.inputs[target];
  if (x.empty()) {
    return RuntimeError("[{}] expects an input of shape (N, C, ...) or (C,), got ()", context.op);
  }
  if (classes.dtype != DataType::kInt64) {
    return RuntimeError("[{}] expects a target of class indices, int64, got {} {}", context.op,
                        DataTypeName(classes.dtype), classes.shape);
  }
  Shape expected = x;
  expected.Erase(x.size() == 1 ? 0 : 1);
  if (classes.shape != expected) {
    return RuntimeError("[{}] expects a target of shape {} for input {}, got {}", context.op,
                        expected, x, classes.shape);
  }
  const TensorMeta* given = weight < context.num_inputs ? context.inputs[weight] : nullptr;
  const Shape per_class{x[x.size() == 1 ? 0 : 1]};
  if (given != nullptr && (given->shape != per_class || given->dtype != dtype)) {
    return RuntimeError("[{}] expects a weight of shape {} and dtype {}, got {} {}", context.op,
                        per_class, DataTypeName(dtype), DataTypeName(given->dtype), given->shape);
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
  const Maybe<Shape> batch =
      BroadcastShapes(context.op, Shape(a.data(), a.size() - 2), Shape(b.data(), b.size() - 2));
  if (!batch.ok()) {
    return RuntimeError(
        "[{}] expects sizes before the last two that broadcast together, got {} and "
        "{}",
        context.op, a, b);
  }
  Shape shape = batch.value();
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
    return RuntimeError(
        "[{}] expects input (..., in) and weight (out, in), got input {} and weight {}", context.op,
        x, weight);
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
  JUST(CheckFloating(context, 0));
  JUST(CheckNllOperands(context, context.inputs[0]->shape, context.inputs[0]->dtype, 1, 2));
  const bool none = context.GetAttrs<NllLossAttrs>().reduction == Reduction::kNone;
  outputs[0].shape = none ? context.inputs[1]->shape : Shape();
  outputs[1].shape = Shape();
  return Ok();
}

Maybe<void> InferNllLossBackward(const InferContext& context, TensorMeta* outputs) {
  const NllLossBackwardAttrs& attrs = context.GetAttrs<NllLossBackwardAttrs>();
  const Shape shape = attrs.shape.ToDims();
  JUST(CheckFloating(context, 0));
  JUST(CheckNllOperands(context, shape, context.inputs[0]->dtype, 1, 2));
  const bool none = attrs.kernel.reduction == Reduction::kNone;
  JUST(CheckShape(context, 0, none ? context.inputs[1]->shape : Shape()));
  JUST(CheckShape(context, 3, Shape()));
  outputs[0].shape = shape;
  return Ok();
}

}  // namespace oneflow
