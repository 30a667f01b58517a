// Dropout and embeddings.
#include "oneflow/kernels/attrs_norm.h"
#include "oneflow/op/rules_norm.h"
#include "oneflow/op/rules_util.h"

namespace oneflow {

namespace {

Maybe<void> CheckIndexDtype(const InferContext& context, int i) {
  const TensorMeta& indices = *context.inputs[i];
  if (IsIntegral(indices.dtype)) { return Ok(); }
  return RuntimeError("[{}] expects indices of an integer dtype, got {} {}", context.op,
                      DataTypeName(indices.dtype), indices.shape);
}

// A table (rows, n).
Maybe<void> CheckTable(const InferContext& context, const Shape& shape) {
  if (shape.size() == 2) { return Ok(); }
  return RuntimeError("[{}] expects a table of shape (rows, n), got {}", context.op, shape);
}

}  // namespace

Maybe<void> InferDropout(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckFloating(context, 0));
  const auto& attrs = context.GetAttrs<DropoutAttrs>();
  const TensorMeta& x = *context.inputs[0];
  if (context.num_inputs > 1 && context.inputs[1] != nullptr) {
    const TensorMeta& addend = *context.inputs[1];
    if (addend.shape != x.shape || addend.dtype != x.dtype) {
      return RuntimeError("[{}] expects an addend of the input's shape and dtype {} {}, got {} {}",
                          context.op, DataTypeName(x.dtype), x.shape, DataTypeName(addend.dtype),
                          addend.shape);
    }
  }
  outputs[0].shape = x.shape;
  outputs[1].dtype = DataType::kBool;
  int64_t count = 1;
  for (int64_t size : x.shape) { count *= size; }
  outputs[1].shape = attrs.inner == 1 ? x.shape : Shape{count / attrs.inner};
  return Ok();
}

Maybe<void> InferDropoutKept(const InferContext& context, TensorMeta* outputs) {
  outputs[0].shape = context.GetAttrs<DropoutKeptOpAttrs>().shape.ToDims();
  outputs[0].dtype = DataType::kBool;
  JUST(CheckedBytes(context.op, outputs[0].shape, outputs[0].dtype));
  return Ok();
}

Maybe<void> InferDropoutBackward(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckFloating(context, 0));
  const TensorMeta& dy = *context.inputs[0];
  if (context.GetAttrs<DropoutBackwardAttrs>().inner == 1) {
    JUST(CheckShape(context, 1, dy.shape));
  }
  if (context.inputs[1]->dtype != DataType::kBool) {
    return RuntimeError("[{}] expects a mask of dtype bool, got {}", context.op,
                        DataTypeName(context.inputs[1]->dtype));
  }
  outputs[0].shape = dy.shape;
  return Ok();
}

Maybe<void> InferEmbedding(const InferContext& context, TensorMeta* outputs) {
  const Shape& table = context.inputs[0]->shape;
  JUST(CheckTable(context, table));
  JUST(CheckIndexDtype(context, 1));
  outputs[0].shape = context.inputs[1]->shape;
  outputs[0].shape.PushBack(table[1]);
  return Ok();
}

Maybe<void> InferEmbeddingBackward(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckFloating(context, 0));
  JUST(CheckIndexDtype(context, 1));
  const Shape table = context.GetAttrs<EmbeddingBackwardAttrs>().shape.ToDims();
  JUST(CheckTable(context, table));
  Shape expected = context.inputs[1]->shape;
  expected.PushBack(table[1]);
  JUST(CheckShape(context, 0, expected));
  outputs[0].shape = table;
  return Ok();
}

Maybe<void> InferEmbeddingRenorm(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckFloating(context, 0));
  JUST(CheckTable(context, context.inputs[0]->shape));
  JUST(CheckIndexDtype(context, 1));
  outputs[0].shape = context.inputs[0]->shape;
  return Ok();
}

}  // namespace oneflow
