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

}  // namespace

Maybe<void> InferListUpdate(const InferContext& context, TensorMeta* outputs) {
  const int lists = context.GetAttrs<ListUpdateAttrs>().states + 2;
  const int count = context.num_inputs / lists;
  if (count * lists != context.num_inputs) {
    return RuntimeError("[{}] expects lists of one length, got {} tensors in {} lists", context.op,
                        context.num_inputs, lists);
  }
  for (int i = 0; i < context.num_inputs; ++i) {
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
