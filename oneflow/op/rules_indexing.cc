#include "oneflow/op/rules_indexing.h"

#include <string>

#include "oneflow/kernels/attrs_indexing.h"
#include "oneflow/op/rules_util.h"

namespace oneflow {

namespace {

Maybe<void> CheckIndexDtype(const InferContext& context, const char* op, int i) {
  const DataType dtype = context.inputs[i]->dtype;
  if (dtype == DataType::kInt64 || dtype == DataType::kInt32) { return Ok(); }
  return RuntimeError("[{}] expects indices of dtype int64 or int32, got {}", op,
                      DataTypeName(dtype));
}

// Indices from operand `first` on: of one shape, for as many dims as there are.
Maybe<void> CheckIndices(const InferContext& context, const IndexAtAttrs& attrs, int first,
                         int ndim) {
  const char* op = NameOf(attrs.caller);
  const int count = context.num_inputs - first;
  if (count < 1 || attrs.dim < 0 || attrs.dim + count > ndim) {
    return IndexError("[{}] expects indices for 1 to {} dims, got {} from dim {} on", op, ndim,
                      count, attrs.dim);
  }
  for (int i = first; i < context.num_inputs; ++i) {
    JUST(CheckIndexDtype(context, op, i));
    if (context.inputs[i]->shape != context.inputs[first]->shape) {
      return IndexError("[{}] expects indices of one shape, got {} and {}", op,
                        context.inputs[first]->shape, context.inputs[i]->shape);
    }
  }
  return Ok();
}

// P + B + R.
Maybe<Shape> PlainShape(const IndexAtAttrs& attrs, const Shape& indexed, const Shape& index,
                        int count) {
  Shape shape;
  const int dim = static_cast<int>(attrs.dim);
  if (indexed.size() - count + index.size() > kMaxDims) {
    return IndexError("[{}] expects a result of at most {} dims, got indices of shape {} for {}",
                      NameOf(attrs.caller), kMaxDims, index, indexed);
  }
  for (int d = 0; d < dim; ++d) { shape.PushBack(indexed[d]); }
  for (int64_t size : index) { shape.PushBack(size); }
  for (int d = dim + count; d < indexed.size(); ++d) { shape.PushBack(indexed[d]); }
  return shape;
}

}  // namespace

Maybe<void> InferIndexAt(const InferContext& context, TensorMeta* outputs) {
  const auto& attrs = context.GetAttrs<IndexAtAttrs>();
  const Shape& input = context.inputs[0]->shape;
  JUST(CheckIndices(context, attrs, 1, input.size()));
  outputs[0].shape =
      JUST(PlainShape(attrs, input, context.inputs[1]->shape, context.num_inputs - 1));
  return Ok();
}

Maybe<void> InferIndexAtBackward(const InferContext& context, TensorMeta* outputs) {
  const auto& attrs = context.GetAttrs<IndexAtBackwardAttrs>();
  const Shape shape = attrs.shape.ToDims();
  JUST(CheckIndices(context, attrs.kernel, 1, shape.size()));
  JUST(CheckShape(
      context, 0,
      JUST(PlainShape(attrs.kernel, shape, context.inputs[1]->shape, context.num_inputs - 1))));
  outputs[0].shape = shape;
  return Ok();
}

Maybe<void> InferIndexAtPut(const InferContext& context, TensorMeta* outputs) {
  const auto& attrs = context.GetAttrs<IndexAtAttrs>();
  const TensorMeta& target = *context.inputs[0];
  const TensorMeta& values = *context.inputs[1];
  JUST(CheckIndices(context, attrs, 2, target.shape.size()));
  const Shape plain =
      JUST(PlainShape(attrs, target.shape, context.inputs[2]->shape, context.num_inputs - 2));
  if (values.shape != plain) {
    return RuntimeError("[{}] expects values of shape {}, got {}", NameOf(attrs.caller), plain,
                        values.shape);
  }
  if (values.dtype != target.dtype) {
    return RuntimeError("[{}] expects values of the target's dtype {}, got {}",
                        NameOf(attrs.caller), DataTypeName(target.dtype),
                        DataTypeName(values.dtype));
  }
  outputs[0].shape = target.shape;
  return Ok();
}

namespace {

// An index may be smaller than what it is applied to, but for the dim along which it points.
Maybe<void> CheckAlong(const char* op, const Shape& index, const Shape& other, int64_t dim,
                       const char* what) {
  bool fits = index.size() == other.size() || (index.size() <= 1 && other.size() <= 1);
  for (int d = 0; fits && d < index.size() && d < other.size(); ++d) {
    fits = d == dim || index[d] <= other[d] || ElementCount(index) == 0;
  }
  if (fits) { return Ok(); }
  return RuntimeError("[{}] expects an index that is nowhere larger than {} {} but along dim {}, "
                      "got shape {}",
                      op, what, other, dim, index);
}

}  // namespace

Maybe<void> InferGather(const InferContext& context, TensorMeta* outputs) {
  const auto& attrs = context.GetAttrs<GatherAttrs>();
  const char* op = NameOf(attrs.caller);
  JUST(CheckIndexDtype(context, op, 1));
  const Shape& index = context.inputs[1]->shape;
  JUST(CheckAlong(op, index, context.inputs[0]->shape, attrs.dim, "input"));
  outputs[0].shape = index;
  return Ok();
}

Maybe<void> InferScatter(const InferContext& context, TensorMeta* outputs) {
  const auto& attrs = context.GetAttrs<ScatterAttrs>();
  const char* op = NameOf(attrs.caller);
  JUST(CheckIndexDtype(context, op, 1));
  const TensorMeta& target = *context.inputs[0];
  const TensorMeta& src = *context.inputs[2];
  JUST(CheckAlong(op, context.inputs[1]->shape, target.shape, attrs.dim, "input"));
  JUST(CheckAlong(op, context.inputs[1]->shape, src.shape, -1, "src"));
  if (src.dtype != target.dtype) {
    return RuntimeError("[{}] expects src of input's dtype {}, got {}", op,
                        DataTypeName(target.dtype), DataTypeName(src.dtype));
  }
  outputs[0].shape = target.shape;
  return Ok();
}

Maybe<void> InferNonzeroCount(const InferContext&, TensorMeta* outputs) {
  outputs[0].dtype = DataType::kInt64;
  return Ok();
}

Maybe<void> InferNonzeroRows(const InferContext& context, TensorMeta* outputs) {
  outputs[0].shape =
      Shape{context.GetAttrs<CountAttrs>().count, int64_t{context.inputs[0]->shape.size()}};
  outputs[0].dtype = DataType::kInt64;
  return Ok();
}

Maybe<void> InferMaskedTake(const InferContext& context, TensorMeta* outputs) {
  JUST(CheckShape(context, 1, context.inputs[0]->shape));
  outputs[0].shape = Shape{context.GetAttrs<CountAttrs>().count};
  return Ok();
}

Maybe<void> InferMaskedUntake(const InferContext& context, TensorMeta* outputs) {
  outputs[0].shape = context.inputs[1]->shape;
  return Ok();
}

namespace {

// Places of a storage, in elements: none before it, none behind it.
Maybe<void> CheckPlaces(const InferContext& context, const AsStridedAttrs& attrs) {
  const Dims size = attrs.size.ToDims();
  const Dims stride = attrs.stride.ToDims();
  bool fits = size.size() == stride.size() && attrs.offset >= 0;
  int64_t last = attrs.offset;
  bool empty = false;
  for (int d = 0; fits && d < size.size(); ++d) {
    int64_t reach = 0;
    empty = empty || size[d] == 0;
    fits = size[d] >= 0 && stride[d] >= 0 &&
           !__builtin_mul_overflow(size[d] > 0 ? size[d] - 1 : 0, stride[d], &reach) &&
           !__builtin_add_overflow(last, reach, &last) && last < int64_t{1} << 58;
  }
  if (fits) { return Ok(); }
  return RuntimeError(
      "[{}] expects a stride of at least 0 for each size, and an offset of at least "
      "0, got size {}, stride {}, offset {}",
      context.op, size, stride, attrs.offset);
}

}  // namespace

Maybe<void> InferAsStrided(const InferContext& context, TensorMeta* outputs) {
  const auto& attrs = context.GetAttrs<AsStridedAttrs>();
  JUST(CheckPlaces(context, attrs));
  outputs[0].shape = attrs.size.ToDims();
  outputs[0].strides = attrs.stride.ToDims();
  outputs[0].offset = attrs.offset;
  outputs[0].contiguous = IsContiguous(outputs[0].shape, outputs[0].strides);
  return Ok();
}

Maybe<void> InferAsStridedBackward(const InferContext& context, TensorMeta* outputs) {
  const auto& attrs = context.GetAttrs<AsStridedAttrs>();
  JUST(CheckPlaces(context, attrs));
  JUST(CheckShape(context, 0, attrs.size.ToDims()));
  outputs[0].shape = attrs.input_shape.ToDims();
  return Ok();
}

}  // namespace oneflow
