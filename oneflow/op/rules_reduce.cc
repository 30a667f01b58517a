#include "oneflow/op/op_attrs.h"
#include "oneflow/op/rules.h"
#include "oneflow/op/rules_util.h"

namespace oneflow {

namespace {

// The shape left when `dims` (none given: all) are reduced.
Shape ReducedShape(const Shape& shape, const IntList& dims, bool keepdim) {
  bool reduced[kMaxDims] = {};
  for (int i = 0; i < shape.size(); ++i) { reduced[i] = dims.count == 0; }
  for (int i = 0; i < dims.count; ++i) { reduced[dims.values[i]] = true; }
  Shape out;
  for (int i = 0; i < shape.size(); ++i) {
    if (!reduced[i]) {
      out.PushBack(shape[i]);
    } else if (keepdim) {
      out.PushBack(1);
    }
  }
  return out;
}

}  // namespace

Maybe<void> InferReduce(const InferContext& context, TensorMeta* outputs) {
  const ReduceAttrs& attrs = context.GetAttrs<ReduceAttrs>();
  outputs[0].shape = ReducedShape(context.inputs[0]->shape, attrs.dims, attrs.keepdim);
  return Ok();
}

Maybe<void> InferFloatingReduce(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckFloating(context, 0));
  return InferReduce(context, outputs);
}

Maybe<void> InferArgmax(const InferContext& context, TensorMeta* outputs) {
  const ArgmaxAttrs& attrs = context.GetAttrs<ArgmaxAttrs>();
  const Shape& shape = context.inputs[0]->shape;
  const int64_t reduced = attrs.dims.count == 0 || shape.empty()
                              ? ElementCount(shape)
                              : shape[static_cast<int>(attrs.dims.values[0])];
  if (reduced == 0) {
    return IndexError("[{}] expects at least one element to choose from, got shape {}", context.op,
                      shape);
  }
  outputs[0].shape = ReducedShape(shape, attrs.dims, attrs.keepdim);
  outputs[0].dtype = DataType::kInt64;
  return Ok();
}

}  // namespace oneflow
