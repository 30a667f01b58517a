// Views by strides, and slices of several dims.
#include <algorithm>

#include "oneflow/functional/composites.h"
#include "oneflow/functional/composites_indexing.h"
#include "oneflow/functional/generated/functional.h"

namespace oneflow::functional {

Maybe<IntList> ShapeOf(const char*, const TensorPtr& input) { return IntList(input->shape()); }
Maybe<IntList> StridesOf(const char*, const TensorPtr& input) { return IntList(input->strides()); }
Maybe<int64_t> OffsetOf(const char*, const TensorPtr& input) { return input->meta().offset; }

namespace {

// How many elements lie between the first and the last.
int64_t SpanOf(const Dims& size, const Dims& stride) {
  int64_t last = 0;
  for (int d = 0; d < size.size(); ++d) {
    if (size[d] == 0) { return 0; }
    last += (size[d] - 1) * stride[d];
  }
  return last + 1;
}

// dy laid out as `base` is: element i of base's memory, from base's first element on, is element
// `origin` + i of the result's storage.
struct Laid {
  TensorPtr tensor;
  int64_t origin;
};

Maybe<Laid> LayOut(const TensorPtr& dy, const TensorMeta& base, bool fresh) {
  if (base.contiguous) {
    const TensorPtr dense = fresh || !dy->contiguous() ? JUST(copy(dy)) : dy;
    return Laid{dense, dense->meta().offset};
  }
  const int64_t span = SpanOf(base.shape, base.strides);
  const TensorPtr memory = JUST(zeros(Dims{span}, dy->dtype(), dy->device()));
  JUST(copy_(JUST(as_strided_view(memory, base.shape, base.strides, 0)), dy));
  return Laid{memory, 0};
}

}  // namespace

Maybe<TensorPtr> TakeView(const TensorPtr& dy, const TensorMeta& base, const TensorMeta& view) {
  const Laid laid = JUST(LayOut(dy, base, false));
  const int64_t offset = laid.origin + view.offset - base.offset;
  return as_strided_view(laid.tensor, view.shape, view.strides, offset);
}

Maybe<TensorPtr> PutView(const TensorPtr& dy, const TensorPtr& part, const TensorMeta& base,
                         const TensorMeta& view) {
  const Laid laid = JUST(LayOut(dy, base, true));
  const int64_t offset = laid.origin + view.offset - base.offset;
  JUST(copy_(JUST(as_strided_view(laid.tensor, view.shape, view.strides, offset)), part));
  if (base.contiguous) { return laid.tensor; }
  return copy(JUST(as_strided_view(laid.tensor, base.shape, base.strides, 0)));
}

namespace composites {

Maybe<TensorPtr> AsStrided(const TensorPtr& input, const Dims& size, const Dims& stride,
                           int64_t storage_offset) {
  const TensorPtr out = JUST(as_strided_view(input, size, stride, storage_offset));
  const auto available = static_cast<int64_t>(input->storage()->bytes() / SizeOf(input->dtype()));
  if (out->Count() > 0 && storage_offset + SpanOf(size, stride) > available) {
    return RuntimeError(
        "[as_strided] expects a view within the tensor's memory of {} elements, got "
        "size {}, stride {}, storage_offset {}",
        available, size, stride, storage_offset);
  }
  return out;
}

Maybe<TensorPtr> AsStridedAgain(const TensorPtr& dy, const Dims& size, const Dims& stride,
                                int64_t offset, const Dims& input_shape, const Dims& input_stride,
                                int64_t input_offset) {
  TensorMeta base;
  base.shape = input_shape;
  base.strides = input_stride;
  base.offset = input_offset;
  base.contiguous = IsContiguous(input_shape, input_stride);
  TensorMeta view;
  view.shape = size;
  view.strides = stride;
  view.offset = offset;
  return TakeView(dy, base, view);
}

Maybe<TensorPtr> SliceSteps(const TensorPtr& x, const Dims& start, const Dims& stop,
                            const Dims& step, std::optional<bool> enable_view_slice) {
  if (start.size() != x->ndim() || stop.size() != x->ndim() || step.size() != x->ndim()) {
    return RuntimeError("[slice] expects a start, stop and step for each dim of {}, got {}, {} and "
                        "{}",
                        x->shape(), start, stop, step);
  }
  TensorPtr out = x;
  for (int d = 0; d < x->ndim(); ++d) {
    out = JUST(slice(out, d, start[d], std::max(start[d], stop[d]), step[d]));
  }
  return enable_view_slice.value_or(true) ? Maybe<TensorPtr>(out) : copy(out);
}

Maybe<TensorPtr> SliceUpdate(const TensorPtr& ref, const TensorPtr& value, const Dims& start,
                             const Dims& stop, const Dims& step, bool inplace) {
  const TensorPtr target = inplace ? ref : JUST(copy(ref));
  const TensorPtr part = JUST(SliceSteps(target, start, stop, step, std::nullopt));
  if (part->shape() != value->shape()) {
    return RuntimeError("[slice_update] expects a value of the slice's shape {}, got {}",
                        part->shape(), value->shape());
  }
  JUST(copy_(part, value));
  return target;
}

}  // namespace composites

}  // namespace oneflow::functional
