#include "oneflow/functional/composites_linalg.h"

#include "oneflow/core/shape.h"
#include "oneflow/functional/composites.h"
#include "oneflow/functional/generated/functional.h"

namespace oneflow::functional::composites {

namespace {

Maybe<Dims> CommonShape(const TensorPtr& input, const TensorPtr& other) {
  const Maybe<Shape> shape = BroadcastShapes("cross", input->shape(), other->shape());
  if (!shape.ok()) {
    return RuntimeError("[cross] expects operands that broadcast together, got {} and {}",
                        input->shape(), other->shape());
  }
  return shape.value();
}

Maybe<TensorPtr> CrossAlong(const TensorPtr& input, const TensorPtr& other, const Dims& shape,
                            int64_t dim) {
  const int at = JUST(WrapDim("cross", dim, shape.size()));
  if (shape[at] != 3) {
    return RuntimeError("[cross] expects 3 entries along dim {}, got shape {}", dim, shape);
  }
  const TensorPtr a = JUST(expand(input, shape)), b = JUST(expand(other, shape));
  TensorTuple parts;
  for (int64_t i = 0; i < 3; ++i) {
    const int64_t j = (i + 1) % 3, k = (i + 2) % 3;
    const TensorPtr first = JUST(mul(JUST(narrow(a, at, j, 1)), JUST(narrow(b, at, k, 1))));
    const TensorPtr second = JUST(mul(JUST(narrow(a, at, k, 1)), JUST(narrow(b, at, j, 1))));
    parts.push_back(JUST(sub(first, second, Scalar(1))));
  }
  return cat(parts, at);
}

}  // namespace

Maybe<TensorPtr> Cross(const TensorPtr& input, const TensorPtr& other, std::optional<int64_t> dim) {
  const Dims shape = JUST(CommonShape(input, other));
  if (dim.has_value()) { return CrossAlong(input, other, shape, *dim); }
  for (int d = 0; d < shape.size(); ++d) {
    if (shape[d] == 3) { return CrossAlong(input, other, shape, d); }
  }
  return RuntimeError("[cross] expects a dim with 3 entries, got shape {}", shape);
}

Maybe<TensorPtr> LinalgCross(const TensorPtr& input, const TensorPtr& other,
                             std::optional<int64_t> dim) {
  return CrossAlong(input, other, JUST(CommonShape(input, other)), dim.value_or(-1));
}

Maybe<TensorPtr> InverseGrad(const TensorPtr& dy, const TensorPtr& inverse) {
  const TensorPtr transposed = JUST(transpose(inverse, -2, -1));
  return neg(JUST(matmul_nd(JUST(matmul_nd(transposed, dy)), transposed)));
}

}  // namespace oneflow::functional::composites
