#include "oneflow/autograd/grad_mode.h"
#include "oneflow/functional/composites_reduce.h"
#include "oneflow/functional/generated/functional.h"

namespace oneflow::functional::composites {

namespace {

Maybe<TensorPtr> Mask(const TensorPtr& input, int64_t value, DataType dtype) {
  return cast(JUST(scalar_eq(input, Scalar(value))), dtype);
}

}  // namespace

// Before the first zero, the products of later elements are divided by the element. At the zero,
// they are multiplied anew without it. Behind it every product is 0.
Maybe<TensorPtr> CumprodBackward(const TensorPtr& dy, const TensorPtr& input, const TensorPtr& out,
                                 int64_t dim) {
  const DataType dtype = input->dtype();
  const TensorPtr zero = JUST(Mask(input, 0, dtype));
  const TensorPtr seen = JUST(cumsum(zero, dim));
  const TensorPtr before = JUST(Mask(seen, 0, dtype));
  const TensorPtr behind = JUST(Mask(seen, 1, dtype));  // and the first zero itself
  const TensorPtr first = JUST(mul(zero, behind));
  const TensorPtr divisor =
      JUST(where_scalar_x(JUST(scalar_eq(input, Scalar(0))), Scalar(1), input));
  const TensorPtr whole = JUST(div(JUST(cumsum_reversed(JUST(mul(dy, out)), dim)), divisor));
  const TensorPtr others = JUST(
      cumprod(JUST(where_scalar_x(JUST(cast(first, DataType::kBool)), Scalar(1), input)), dim));
  const TensorPtr without = JUST(cumsum_reversed(JUST(mul(dy, others)), dim));
  const TensorPtr dx = JUST(add(JUST(mul(before, whole)), JUST(mul(first, without))));
  if (!GradModeEnabled()) { return dx; }
  // Behind the zero the gradient is 0, but has a derivative: for the zero, which is a factor of it.
  const TensorPtr the_zero = JUST(cumsum(JUST(mul(first, input)), dim));
  const TensorPtr only_behind = JUST(sub(behind, first));
  const TensorPtr rest = JUST(mul(the_zero, JUST(div(without, divisor))));
  return add(dx, JUST(mul(only_behind, rest)));
}

Maybe<TensorPtr> AlongDimBackward(const TensorPtr& dy, const TensorPtr& index, const Dims& shape,
                                  int64_t dim, bool keepdim) {
  if (shape.empty()) { return reshape(dy, shape); }
  if (keepdim) { return gather_backward(dy, index, shape, dim); }
  return gather_backward(JUST(unsqueeze(dy, dim)), JUST(unsqueeze(index, dim)), shape, dim);
}

Maybe<TensorPtr> AlongDimsBackward(const TensorPtr& dy, const TensorPtr& index, const Dims& shape,
                                   const Dims& dims, bool keepdim) {
  return AlongDimBackward(dy, index, shape, dims.empty() ? 0 : dims[0], keepdim);
}

Maybe<TensorPtr> ArgSort(const TensorPtr& input, const std::string& direction) {
  if (direction != "ASCENDING" && direction != "DESCENDING") {
    return RuntimeError("[arg_sort] expects a direction of ASCENDING or DESCENDING, got {}",
                        direction);
  }
  return JUST(sort(input, -1, direction == "DESCENDING"))[1];
}

Maybe<TensorPtr> SearchsortedScalar(const TensorPtr& sorted_sequence, Scalar values, bool out_int32,
                                    bool right, const std::optional<std::string>& side,
                                    const TensorPtr& sorter) {
  TensorPtr sequence = sorted_sequence;
  if (values.is_float() && !IsFloating(sequence->dtype())) {
    sequence = JUST(cast(sequence, DataType::kDouble));  // the value must not be cut to an integer
  }
  const TensorPtr value = JUST(full(Dims(), values, sequence->dtype(), sequence->device()));
  return searchsorted(sequence, value, out_int32, right, side, sorter);
}

Maybe<TensorPtr> RocAucScore(const TensorPtr& label, const TensorPtr& pred) {
  return auc(JUST(to_dtype(label, DataType::kFloat)), JUST(to_dtype(pred, DataType::kFloat)));
}

}  // namespace oneflow::functional::composites
