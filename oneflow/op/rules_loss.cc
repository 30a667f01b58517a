#include "oneflow/op/rules_loss.h"

#include "oneflow/kernels/attrs_norm.h"
#include "oneflow/op/rules_util.h"

namespace oneflow {

namespace {

const TensorMeta* Given(const InferContext& context, int i) {
  return i < context.num_inputs ? context.inputs[i] : nullptr;
}

// Inputs first, first + 1, ... of one shape and floating dtype; missing ones are passed over.
Maybe<void> CheckAlike(const InferContext& context, int first) {
  JUST(CheckFloating(context, first));
  const TensorMeta& x = *context.inputs[first];
  for (int i = first + 1; i < context.num_inputs; ++i) {
    const TensorMeta* other = Given(context, i);
    if (other == nullptr) { continue; }
    if (other->shape != x.shape || other->dtype != x.dtype) {
      return RuntimeError("[{}] expects operands of one shape and dtype, got {} {} and {} {}",
                          context.op, DataTypeName(x.dtype), x.shape, DataTypeName(other->dtype),
                          other->shape);
    }
  }
  return Ok();
}

Shape WithoutClasses(const Shape& x, int64_t class_dim) {
  Shape shape = x;
  shape.Erase(static_cast<int>(class_dim));
  return shape;
}

DataType StatsDtype(DataType dtype) {
  return dtype == DataType::kDouble ? DataType::kDouble : DataType::kFloat;
}

// Logits at input x, class indices at x + 1, a weight, perhaps, at x + 2.
Maybe<void> CheckClasses(const InferContext& context, int at) {
  JUST(CheckFloating(context, at));
  const TensorMeta& x = *context.inputs[at];
  const TensorMeta& target = *context.inputs[at + 1];
  const int64_t dim = context.GetAttrs<SoftmaxLossAttrs>().class_dim;
  if (dim < 0 || dim >= x.shape.size()) {
    return RuntimeError("[{}] expects logits with a dim {} of classes, got shape {}", context.op,
                        dim, x.shape);
  }
  if (!IsIntegral(target.dtype)) {
    return RuntimeError("[{}] expects a target of class indices, int64, got {} {}", context.op,
                        DataTypeName(target.dtype), target.shape);
  }
  if (target.shape != WithoutClasses(x.shape, dim)) {
    return RuntimeError("[{}] expects a target of shape {} for input {}, got {}", context.op,
                        WithoutClasses(x.shape, dim), x.shape, target.shape);
  }
  const TensorMeta* weight = Given(context, at + 2);
  const Shape classes{x.shape[static_cast<int>(dim)]};
  if (weight != nullptr && (weight->shape != classes || !IsFloating(weight->dtype))) {
    return RuntimeError("[{}] expects a weight of shape {} and a floating dtype, got {} {}",
                        context.op, classes, DataTypeName(weight->dtype), weight->shape);
  }
  return Ok();
}

}  // namespace

Maybe<void> InferPointwiseLoss(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckAlike(context, 0));
  const bool each = context.GetAttrs<PointwiseLossAttrs>().reduction == Reduction::kNone;
  outputs[0].shape = each ? context.inputs[0]->shape : Shape();
  return Ok();
}

Maybe<void> InferPointwiseLossBackward(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckAlike(context, 1));
  const Shape& x = context.inputs[1]->shape;
  const auto& loss = context.GetAttrs<PointwiseLossBackwardAttrs>().loss;
  JUST(CheckShape(context, 0, loss.reduction == Reduction::kNone ? x : Shape()));
  outputs[0].shape = x;
  return Ok();
}

Maybe<void> InferSoftmaxLoss(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckClasses(context, 0));
  const auto& attrs = context.GetAttrs<SoftmaxLossAttrs>();
  const TensorMeta& x = *context.inputs[0];
  const Shape samples = WithoutClasses(x.shape, attrs.class_dim);
  outputs[0].shape = attrs.reduction == Reduction::kNone ? samples : Shape();
  outputs[0].dtype = attrs.wide_loss ? StatsDtype(x.dtype) : x.dtype;
  for (int i = 1; i < 4; ++i) {
    outputs[i].shape = i == 1 ? Shape() : samples;
    outputs[i].dtype = StatsDtype(x.dtype);
  }
  return Ok();
}

Maybe<void> InferSoftmaxLossBackward(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckClasses(context, 1));
  const auto& attrs = context.GetAttrs<SoftmaxLossAttrs>();
  const Shape& x = context.inputs[1]->shape;
  const Shape samples = WithoutClasses(x, attrs.class_dim);
  JUST(CheckShape(context, 0, attrs.reduction == Reduction::kNone ? samples : Shape()));
  JUST(CheckShape(context, 4, Shape()));
  JUST(CheckShape(context, 5, samples));
  JUST(CheckShape(context, 6, samples));
  outputs[0].shape = x;
  outputs[0].dtype = context.inputs[1]->dtype;  // the loss may be wider
  return Ok();
}

// ---- connectionist temporal classification ------------------------------------------------------

namespace {

// The four operands from input `at` on.
Maybe<void> CheckCtc(const InferContext& context, int at) {
  JUST(CheckFloating(context, at));
  const Shape& log_probs = context.inputs[at]->shape;
  if (log_probs.size() != 3) {
    return RuntimeError("[{}] expects log_probs of shape (T, N, C), got {}", context.op, log_probs);
  }
  const auto& attrs = context.GetAttrs<CtcLossAttrs>();
  if (attrs.blank < 0 || attrs.blank >= log_probs[2]) {
    return RuntimeError("[{}] expects blank in [0, {}), got {}", context.op, log_probs[2],
                        attrs.blank);
  }
  if (attrs.max_target_length < 0) {
    return RuntimeError("[{}] expects max_target_length of at least 0, got {}", context.op,
                        attrs.max_target_length);
  }
  for (int i = at + 1; i < at + 4; ++i) {
    if (!IsIntegral(context.inputs[i]->dtype)) {
      return RuntimeError("[{}] expects targets and lengths of an integer dtype, got {} {}",
                          context.op, DataTypeName(context.inputs[i]->dtype),
                          context.inputs[i]->shape);
    }
  }
  const Shape& targets = context.inputs[at + 1]->shape;
  const bool fits = targets.size() == 1 || (targets.size() == 2 && targets[0] == log_probs[1]);
  if (!fits) {
    return RuntimeError("[{}] expects targets of shape ({}, S), or all of them joined, got {}",
                        context.op, log_probs[1], targets);
  }
  JUST(CheckShape(context, at + 2, Shape{log_probs[1]}));
  return CheckShape(context, at + 3, Shape{log_probs[1]});
}

}  // namespace

Maybe<void> InferCtcLoss(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckCtc(context, 0));
  const Shape& log_probs = context.inputs[0]->shape;
  const int64_t states = 2 * context.GetAttrs<CtcLossAttrs>().max_target_length + 1;
  outputs[0].shape = Shape{log_probs[1]};
  outputs[1].shape = Shape{log_probs[1], log_probs[0], states};
  outputs[1].dtype = StatsDtype(context.inputs[0]->dtype);
  outputs[2].shape = Shape{log_probs[1]};
  return Ok();
}

Maybe<void> InferCtcLossBackward(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckCtc(context, 1));
  const Shape& log_probs = context.inputs[1]->shape;
  JUST(CheckShape(context, 0, Shape{log_probs[1]}));
  outputs[0].shape = log_probs;
  return Ok();
}

Maybe<void> InferCtcGreedyDecoder(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckFloating(context, 0));
  const Shape& log_probs = context.inputs[0]->shape;
  if (log_probs.size() != 3 || log_probs[2] == 0) {
    return RuntimeError("[{}] expects log_probs of shape (T, N, C), got {}", context.op, log_probs);
  }
  if (!IsIntegral(context.inputs[1]->dtype)) {
    return RuntimeError("[{}] expects input_lengths of an integer dtype, got {}", context.op,
                        DataTypeName(context.inputs[1]->dtype));
  }
  JUST(CheckShape(context, 1, Shape{log_probs[1]}));
  outputs[0].shape = Shape{log_probs[1], log_probs[0]};
  outputs[0].dtype = DataType::kInt64;
  outputs[1].shape = Shape{log_probs[1], 1};
  outputs[1].dtype = context.inputs[0]->dtype;
  return Ok();
}

}  // namespace oneflow
