#include "oneflow/op/op_attrs.h"
#include "oneflow/op/rules.h"

namespace oneflow {

namespace {

// Starts an output that shares the storage of input 0.
void ShareStorage(const InferContext& context, TensorMeta* output) {
  output->dtype = context.inputs[0]->dtype;
  output->device = context.inputs[0]->device;
  output->offset = context.inputs[0]->offset;
}

void SetContiguity(TensorMeta* output) {
  output->contiguous = IsContiguous(output->shape, output->strides);
}

// No memory is needed for a repeated dim, but offsets must be numbers that can be computed with.
Maybe<void> CheckCount(const InferContext& context, const Shape& shape) {
  int64_t count = 1;
  for (int64_t size : shape) {
    if (size == 0) { return Ok(); }
    if (__builtin_mul_overflow(count, size, &count) || count > int64_t{1} << 62) {
      return RuntimeError("[{}] expects at most 2^62 elements, got {}", context.op, shape);
    }
  }
  return Ok();
}

}  // namespace

Maybe<void> InferView(const InferContext& context, TensorMeta* outputs) {
  const TensorMeta& input = *context.inputs[0];
  const Shape wanted = context.GetAttrs<ShapeAttrs>().shape.ToDims();
  ShareStorage(context, outputs);
  outputs[0].shape = JUST(InferViewShape(context.op, input.shape, wanted));
  if (!ViewStrides(input.shape, input.strides, outputs[0].shape, &outputs[0].strides)) {
    return RuntimeError("[{}] expects a shape that needs no copy of input {} with strides {}, got "
                        "{}; use reshape()",
                        context.op, input.shape, input.strides, wanted);
  }
  SetContiguity(outputs);
  return Ok();
}

Maybe<void> InferExpand(const InferContext& context, TensorMeta* outputs) {
  const TensorMeta& input = *context.inputs[0];
  Shape wanted = context.GetAttrs<ShapeAttrs>().shape.ToDims();
  const int shift = wanted.size() - input.shape.size();
  bool fits = shift >= 0;
  for (int i = 0; fits && i < wanted.size(); ++i) {
    const int64_t have = i < shift ? 1 : input.shape[i - shift];
    if (wanted[i] == -1 && i >= shift) { wanted[i] = have; }
    fits = wanted[i] >= 0 && (wanted[i] == have || have == 1);
  }
  if (!fits) {
    return RuntimeError("[{}] expects sizes that input {} broadcasts to (-1 keeps a size), got {}",
                        context.op, input.shape, context.GetAttrs<ShapeAttrs>().shape.ToDims());
  }
  JUST(CheckCount(context, wanted));
  ShareStorage(context, outputs);
  outputs[0].shape = wanted;
  outputs[0].strides = BroadcastStrides(input.shape, input.strides, wanted);
  // A new dim of size 1 repeats nothing: it gets the stride of a dense one.
  for (int i = shift - 1; i >= 0; --i) {
    if (wanted[i] != 1) { continue; }
    const bool last = i + 1 == wanted.size();
    outputs[0].strides[i] = last ? 1 : wanted[i + 1] * outputs[0].strides[i + 1];
  }
  SetContiguity(outputs);
  return Ok();
}

Maybe<void> InferPermute(const InferContext& context, TensorMeta* outputs) {
  const TensorMeta& input = *context.inputs[0];
  const IntList& dims = context.GetAttrs<PermuteAttrs>().dims;
  ShareStorage(context, outputs);
  outputs[0].shape.Resize(dims.count);
  outputs[0].strides.Resize(dims.count);
  for (int i = 0; i < dims.count; ++i) {
    outputs[0].shape[i] = input.shape[static_cast<int>(dims.values[i])];
    outputs[0].strides[i] = input.strides[static_cast<int>(dims.values[i])];
  }
  SetContiguity(outputs);
  return Ok();
}

Maybe<void> InferSlice(const InferContext& context, TensorMeta* outputs) {
  const TensorMeta& input = *context.inputs[0];
  const SliceAttrs& attrs = context.GetAttrs<SliceAttrs>();
  const int dim = static_cast<int>(attrs.dim);
  ShareStorage(context, outputs);
  outputs[0].shape = input.shape;
  outputs[0].strides = input.strides;
  outputs[0].shape[dim] = attrs.length;
  if (attrs.length > 0) { outputs[0].offset += attrs.start * input.strides[dim]; }
  outputs[0].strides[dim] = input.strides[dim] * attrs.step;
  SetContiguity(outputs);
  return Ok();
}

Maybe<void> InferSliceBackward(const InferContext& context, TensorMeta* outputs) {
  const SliceBackwardAttrs& attrs = context.GetAttrs<SliceBackwardAttrs>();
  const Shape& dy = context.inputs[0]->shape;
  const Shape shape = attrs.shape.ToDims();
  const int dim = static_cast<int>(attrs.dim);
  bool fits = shape.size() == dy.size() && dim >= 0 && dim < shape.size() && attrs.start >= 0 &&
              attrs.step >= 1;
  for (int i = 0; fits && i < shape.size(); ++i) {
    const int64_t last = attrs.start + (dy[i] - 1) * attrs.step;
    fits = i == dim ? (dy[i] == 0 || last < shape[i]) : dy[i] == shape[i];
  }
  if (!fits) {
    return RuntimeError("[{}] expects a gradient that fits into {} at dim {}, start {}, step {}, "
                        "got {}",
                        context.op, shape, dim, attrs.start, attrs.step, dy);
  }
  outputs[0].shape = shape;
  return Ok();
}

}  // namespace oneflow
