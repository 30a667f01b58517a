#include "oneflow/op/rules_optim.h"

#include "oneflow/kernels/attrs_optim.h"
#include "oneflow/op/rules_util.h"

namespace oneflow {

namespace {

Maybe<void> InPlace(const InferContext& context, int count, TensorMeta* outputs) {
  for (int i = 0; i < count; ++i) {
    JUST(CheckFloating(context, i));
    outputs[i].shape = context.inputs[i]->shape;
    outputs[i].dtype = context.inputs[i]->dtype;
  }
  return Ok();
}

Maybe<void> CheckNumbers(const InferContext& context, const TensorMeta& numbers) {
  if (numbers.dtype == DataType::kDouble && numbers.shape == Shape({3})) { return Ok(); }
  return RuntimeError("[{}] expects numbers of dtype float64 and shape (3,), got {} {}", context.op,
                      DataTypeName(numbers.dtype), numbers.shape);
}

}  // namespace

Maybe<void> InferListUpdate(const InferContext& context, TensorMeta* outputs) {
  const auto& attrs = context.GetAttrs<ListUpdateAttrs>();
  const int lists = attrs.states + 2;
  const int tensors = context.num_inputs - (attrs.numbers ? 1 : 0);
  const int count = tensors / lists;
  if (count * lists != tensors) {
    return RuntimeError("[{}] expects lists of one length, got {} tensors in {} lists", context.op,
                        tensors, lists);
  }
  if (attrs.numbers) { JUST(CheckNumbers(context, *context.inputs[tensors])); }
  for (int i = 0; i < tensors; ++i) {
    const TensorMeta& own = *context.inputs[i];
    const TensorMeta& param = *context.inputs[i % count];
    if (own.shape != param.shape || own.dtype != param.dtype) {
      return RuntimeError("[{}] expects state and gradient with the shape and dtype of their "
                          "parameter, {} {}, got {} {}",
                          context.op, DataTypeName(param.dtype), param.shape,
                          DataTypeName(own.dtype), own.shape);
    }
  }
  return InPlace(context, count * (lists - 1), outputs);
}

Maybe<void> InferListInPlace(const InferContext& context, TensorMeta* outputs) {
  return InPlace(context, context.num_inputs, outputs);
}

Maybe<void> InferListClip(const InferContext& context, TensorMeta* outputs) {
  const int count = context.num_inputs - 1;
  JUST(InPlace(context, count, outputs));
  JUST(CheckFloating(context, count));
  if (context.inputs[count]->Count() != 1) {
    return RuntimeError("[{}] expects a norm of one element, got {}", context.op,
                        context.inputs[count]->shape);
  }
  return Ok();
}

Maybe<void> InferListNorm(const InferContext& context, TensorMeta* outputs) {
  outputs[0].shape = Shape();
  if (context.num_inputs == 0) { return Ok(); }
  DataType widest = context.inputs[0]->dtype;
  for (int i = 0; i < context.num_inputs; ++i) {
    JUST(CheckFloating(context, i));
    widest = PromoteTypes(widest, context.inputs[i]->dtype);
  }
  outputs[0].dtype = widest;
  return Ok();
}

}  // namespace oneflow
