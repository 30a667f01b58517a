#include "oneflow/op/rules_shape.h"

#include <algorithm>

#include "oneflow/core/shape.h"
#include "oneflow/kernels/attrs_shape.h"

namespace oneflow {

namespace {

// A vector of nothing joins anything.
bool JoinsNothing(const Shape& shape) { return shape.size() == 1 && shape[0] == 0; }

void ShareStorage(const InferContext& context, TensorMeta* output) {
  output->dtype = context.inputs[0]->dtype;
  output->device = context.inputs[0]->device;
  output->offset = context.inputs[0]->offset;
}

void SetContiguity(TensorMeta* output) {
  output->contiguous = IsContiguous(output->shape, output->strides);
}

// Places on the diagonal; the dims are checked here too.
Maybe<int64_t> DiagonalLength(const InferContext& context, const Shape& shape,
                              const DiagonalAttrs& attrs) {
  const int first = static_cast<int>(attrs.dim1);
  const int second = static_cast<int>(attrs.dim2);
  const int ndim = shape.size();
  if (first == second || first < 0 || second < 0 || first >= ndim || second >= ndim) {
    return RuntimeError("[{}] expects two different dims of a shape with at least two, got dims {} "
                        "and {} of {}",
                        context.op, attrs.dim1, attrs.dim2, shape);
  }
  const int64_t rows = shape[first];
  const int64_t columns = shape[second];
  // Neither sum can overflow: an offset past the sizes is cut to them.
  const int64_t offset = std::clamp(attrs.offset, -rows, columns);
  return offset >= 0 ? std::min(rows, columns - offset) : std::min(rows + offset, columns);
}

Shape WithDiagonal(const Shape& shape, const DiagonalAttrs& attrs, int64_t length) {
  Shape out;
  for (int d = 0; d < shape.size(); ++d) {
    if (d != attrs.dim1 && d != attrs.dim2) { out.PushBack(shape[d]); }
  }
  out.PushBack(length);
  return out;
}

Maybe<Shape> WindowShape(const InferContext& context, const Shape& shape,
                         const UnfoldTensorAttrs& attrs) {
  const int64_t length = shape.empty() ? 1 : shape[static_cast<int>(attrs.dim)];
  if (attrs.size < 0 || attrs.size > length || attrs.step < 1) {
    return RuntimeError("[{}] expects windows of 0 to {} elements, at least 1 apart, for shape {}, "
                        "got size {} and step {}",
                        context.op, length, shape, attrs.size, attrs.step);
  }
  Shape out = shape;
  if (!out.empty()) { out[static_cast<int>(attrs.dim)] = (length - attrs.size) / attrs.step + 1; }
  if (out.size() == kMaxDims) {
    return RuntimeError("[{}] expects fewer than {} dims, got {}", context.op, kMaxDims, shape);
  }
  out.PushBack(attrs.size);
  return out;
}

}  // namespace

Maybe<void> InferCat(const InferContext& context, TensorMeta* outputs) {
  const int dim = static_cast<int>(context.GetAttrs<CatAttrs>().dim);
  const Shape* first = nullptr;
  Shape out;
  for (int i = 0; i < context.num_inputs; ++i) {
    const Shape& shape = context.inputs[i]->shape;
    if (JoinsNothing(shape)) { continue; }
    if (first == nullptr) {
      first = &shape;
      out = shape;
      continue;
    }
    bool fits = shape.size() == out.size();
    for (int d = 0; fits && d < out.size(); ++d) { fits = d == dim || shape[d] == out[d]; }
    if (!fits) {
      return RuntimeError("[{}] expects tensors that are equal in all dims but dim {}, got {} and, "
                          "as number {}, {}",
                          context.op, dim, *first, i, shape);
    }
    out[dim] += shape[dim];
  }
  outputs[0].shape = first == nullptr ? Shape{0} : out;
  JUST(CheckedBytes(context.op, outputs[0].shape, outputs[0].dtype));
  return Ok();
}

Maybe<void> InferStack(const InferContext& context, TensorMeta* outputs) {
  const Shape& shape = context.inputs[0]->shape;
  for (int i = 1; i < context.num_inputs; ++i) {
    if (context.inputs[i]->shape != shape) {
      return RuntimeError("[{}] expects tensors of one shape, got {} and, as number {}, {}",
                          context.op, shape, i, context.inputs[i]->shape);
    }
  }
  if (shape.size() == kMaxDims) {
    return RuntimeError("[{}] expects fewer than {} dims, got {}", context.op, kMaxDims, shape);
  }
  outputs[0].shape = shape;
  outputs[0].shape.Insert(static_cast<int>(context.GetAttrs<CatAttrs>().dim), context.num_inputs);
  JUST(CheckedBytes(context.op, outputs[0].shape, outputs[0].dtype));
  return Ok();
}

Maybe<void> InferTriangle(const InferContext& context, TensorMeta* outputs) {
  if (context.inputs[0]->shape.size() < 2) {
    return RuntimeError("[{}] expects a matrix, or several, got shape {}", context.op,
                        context.inputs[0]->shape);
  }
  outputs[0].shape = context.inputs[0]->shape;
  return Ok();
}

Maybe<void> InferConstantPad(const InferContext& context, TensorMeta* outputs) {
  const auto& attrs = context.GetAttrs<ConstantPadAttrs>();
  const Shape& shape = context.inputs[0]->shape;
  CHECK_OR_RETURN(attrs.before.count == shape.size() && attrs.after.count == shape.size());
  outputs[0].shape = shape;
  for (int d = 0; d < shape.size(); ++d) {
    int64_t& size = outputs[0].shape[d];
    if (__builtin_add_overflow(size, attrs.before.values[d], &size) ||
        __builtin_add_overflow(size, attrs.after.values[d], &size)) {
      return RuntimeError("[{}] expects sizes of 64 bits, got {} with {} before and {} after",
                          context.op, shape, attrs.before.ToDims(), attrs.after.ToDims());
    }
  }
  JUST(CheckedBytes(context.op, outputs[0].shape, outputs[0].dtype));
  return Ok();
}

Maybe<void> InferDiagonal(const InferContext& context, TensorMeta* outputs) {
  const TensorMeta& input = *context.inputs[0];
  const auto& attrs = context.GetAttrs<DiagonalAttrs>();
  const int64_t length = JUST(DiagonalLength(context, input.shape, attrs));
  const int first = static_cast<int>(attrs.dim1);
  const int second = static_cast<int>(attrs.dim2);
  ShareStorage(context, outputs);
  outputs[0].shape = WithDiagonal(input.shape, attrs, std::max<int64_t>(length, 0));
  if (length > 0) {
    outputs[0].offset += attrs.offset >= 0 ? attrs.offset * input.strides[second]
                                           : -attrs.offset * input.strides[first];
  }
  outputs[0].strides = Strides();
  for (int d = 0; d < input.shape.size(); ++d) {
    if (d != first && d != second) { outputs[0].strides.PushBack(input.strides[d]); }
  }
  outputs[0].strides.PushBack(input.strides[first] + input.strides[second]);
  SetContiguity(outputs);
  return Ok();
}

Maybe<void> InferDiagonalBackward(const InferContext& context, TensorMeta* outputs) {
  const auto& attrs = context.GetAttrs<DiagonalBackwardAttrs>();
  const Shape shape = attrs.shape.ToDims();
  const int64_t length = JUST(DiagonalLength(context, shape, attrs.diagonal));
  const Shape expected = WithDiagonal(shape, attrs.diagonal, std::max<int64_t>(length, 0));
  if (context.inputs[0]->shape != expected) {
    return RuntimeError("[{}] expects a diagonal of shape {}, got {}", context.op, expected,
                        context.inputs[0]->shape);
  }
  outputs[0].shape = shape;
  JUST(CheckedBytes(context.op, shape, outputs[0].dtype));
  return Ok();
}

Maybe<void> InferUnfoldTensor(const InferContext& context, TensorMeta* outputs) {
  const TensorMeta& input = *context.inputs[0];
  const auto& attrs = context.GetAttrs<UnfoldTensorAttrs>();
  ShareStorage(context, outputs);
  outputs[0].shape = JUST(WindowShape(context, input.shape, attrs));
  outputs[0].strides = input.strides;
  int64_t within = 1;
  if (!input.shape.empty()) {
    const int dim = static_cast<int>(attrs.dim);
    within = input.strides[dim];
    // With one window there is no step to take, and so none that could be too long.
    const bool steps = outputs[0].shape[dim] > 1;
    outputs[0].strides[dim] = steps ? within * attrs.step : within;
  }
  outputs[0].strides.PushBack(within);
  SetContiguity(outputs);
  return Ok();
}

Maybe<void> InferUnfoldTensorBackward(const InferContext& context, TensorMeta* outputs) {
  const auto& attrs = context.GetAttrs<UnfoldTensorBackwardAttrs>();
  const Shape shape = attrs.shape.ToDims();
  const Shape expected = JUST(WindowShape(context, shape, attrs.window));
  if (context.inputs[0]->shape != expected) {
    return RuntimeError("[{}] expects windows of shape {}, got {}", context.op, expected,
                        context.inputs[0]->shape);
  }
  outputs[0].shape = shape;
  return Ok();
}

Maybe<void> InferOneHot(const InferContext& context, TensorMeta* outputs) {
  const auto& attrs = context.GetAttrs<OneHotAttrs>();
  if (!IsIntegral(context.inputs[0]->dtype)) {
    return RuntimeError("[{}] expects indices of an integer dtype, got {}", context.op,
                        DataTypeName(context.inputs[0]->dtype));
  }
  if (context.inputs[0]->shape.size() == kMaxDims || attrs.depth < 0) {
    return RuntimeError("[{}] expects a number of classes of at least 0, and fewer than {} dims, "
                        "got {} and {}",
                        context.op, kMaxDims, attrs.depth, context.inputs[0]->shape);
  }
  outputs[0].shape = context.inputs[0]->shape;
  outputs[0].shape.PushBack(attrs.depth);
  const bool floats = attrs.on.is_float() || attrs.off.is_float();
  outputs[0].dtype = floats ? DataType::kFloat : DataType::kInt64;
  JUST(CheckedBytes(context.op, outputs[0].shape, outputs[0].dtype));
  return Ok();
}

Maybe<void> InferLinspace(const InferContext& context, TensorMeta* outputs) {
  const int64_t steps = context.GetAttrs<LinspaceOpAttrs>().steps;
  if (steps < 0) {
    return ValueError("[{}] expects steps of at least 0, got {}", context.op, steps);
  }
  outputs[0].shape = Shape{steps};
  JUST(CheckedBytes(context.op, outputs[0].shape, outputs[0].dtype));
  return Ok();
}

}  // namespace oneflow
