#include "oneflow/op/rules_reduce.h"

#include <cmath>

#include "oneflow/kernels/attrs_reduce.h"
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

Maybe<void> CheckElements(const InferContext& context, const IntList& dims) {
  const Shape& shape = context.inputs[0]->shape;
  if (ElementCount(shape) > 0 || ElementCount(ReducedShape(shape, dims, false)) == 0) {
    return Ok();
  }
  for (int i = 0; i < dims.count; ++i) {
    if (shape[static_cast<int>(dims.values[i])] > 0) { continue; }
    return IndexError("[{}] expects at least one element along dim {} to choose from, got shape {}",
                      context.op, dims.values[i], shape);
  }
  return IndexError("[{}] expects at least one element to choose from, got shape {}", context.op,
                    shape);
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
  JUST(CheckElements(context, context.GetAttrs<ArgmaxAttrs>().dims));
  return InferReduceToInt64(context, outputs);
}

Maybe<void> InferSum(const InferContext& context, TensorMeta* outputs) {
  outputs[0].dtype = context.GetAttrs<SumAttrs>().dtype;
  return InferReduce(context, outputs);
}

Maybe<void> InferExtreme(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckElements(context, context.GetAttrs<ReduceAttrs>().dims));
  return InferReduce(context, outputs);
}

Maybe<void> InferExtremeWithIndex(const InferContext& context, TensorMeta* outputs) {
  JUST(InferExtreme(context, outputs));
  outputs[1].shape = outputs[0].shape;
  outputs[1].dtype = DataType::kInt64;
  return Ok();
}

Maybe<void> InferReduceToBool(const InferContext& context, TensorMeta* outputs) {
  outputs[0].dtype = DataType::kBool;
  return InferReduce(context, outputs);
}

Maybe<void> InferReduceToInt64(const InferContext& context, TensorMeta* outputs) {
  outputs[0].dtype = DataType::kInt64;
  return InferReduce(context, outputs);
}

Maybe<void> InferNorm(const InferContext& context, TensorMeta* outputs) {
  const NormAttrs& attrs = context.GetAttrs<NormAttrs>();
  if (std::isinf(attrs.ord)) { JUST(CheckElements(context, attrs.reduce.dims)); }
  return InferFloatingReduce(context, outputs);
}

}  // namespace oneflow
