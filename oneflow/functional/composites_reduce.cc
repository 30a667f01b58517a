#include <algorithm>

#include "oneflow/functional/composites.h"
#include "oneflow/functional/generated/functional.h"

namespace oneflow::functional::composites {

namespace {

// The shape `shape` with its dims in `dims` (none: all) set to 1.
Dims WithOnes(const Dims& shape, const Dims& dims) {
  Dims out = dims.empty() ? Dims(shape.size(), 1) : shape;
  for (int64_t dim : dims) { out[static_cast<int>(dim)] = 1; }
  return out;
}

}  // namespace

Maybe<TensorPtr> SumBackward(const TensorPtr& dy, const Dims& shape, const Dims& dims,
                             bool keepdim) {
  const TensorPtr kept = keepdim ? dy : JUST(reshape(dy, WithOnes(shape, dims)));
  return expand(kept, shape);
}

Maybe<TensorPtr> MeanBackward(const TensorPtr& dy, const Dims& shape, const Dims& dims,
                              bool keepdim) {
  // Of a mean of nothing no element has a share.
  const int64_t elements = std::max<int64_t>(ElementCount(shape), 1);
  const double share = static_cast<double>(dy->Count()) / static_cast<double>(elements);
  return SumBackward(JUST(scalar_mul(dy, Scalar(share))), shape, dims, keepdim);
}

Maybe<TensorPtr> SumToShape(const TensorPtr& input, const Dims& shape) {
  const Dims& from = input->shape();
  if (from == shape) { return input; }
  const int shift = from.size() - shape.size();
  Dims dims;
  bool fits = shift >= 0;
  for (int i = 0; fits && i < from.size(); ++i) {
    const int64_t size = i < shift ? 1 : shape[i - shift];
    fits = size == from[i] || size == 1;
    if (i < shift || size != from[i]) { dims.PushBack(i); }
  }
  if (!fits) {
    return RuntimeError("[sum_to_shape] expects a shape that broadcasts to {}, got {}", from,
                        shape);
  }
  const TensorPtr summed = dims.empty() ? input : JUST(sum(input, dims, /*keepdim=*/true));
  return shift == 0 ? summed : reshape(summed, shape);
}

}  // namespace oneflow::functional::composites
