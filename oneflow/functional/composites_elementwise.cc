#include "oneflow/functional/attr_helpers.h"
#include "oneflow/functional/composites.h"
#include "oneflow/functional/dispatch.h"
#include "oneflow/functional/generated/functional.h"
#include "oneflow/functional/generated/functional_ops.h"

namespace oneflow::functional::composites {

namespace {

Scalar Negated(const Scalar& value) {
  if (value.is_float()) { return Scalar(-value.To<double>()); }
  return Scalar(static_cast<int64_t>(-static_cast<uint64_t>(value.To<int64_t>())));
}

bool IsOne(const Scalar& value) {
  return value.is_float() ? value.To<double>() == 1.0 : value.To<int64_t>() == 1;
}

}  // namespace

Maybe<TensorPtr> ScalarSub(const TensorPtr& input, Scalar other, Scalar alpha) {
  return scalar_add(input, other, Negated(alpha));
}

Maybe<TensorPtr> ScalarSubInto(const TensorPtr& input, Scalar other, Scalar alpha) {
  return scalar_add_(input, other, Negated(alpha));
}

Maybe<TensorPtr> Rsub(const TensorPtr& input, Scalar other, Scalar alpha) {
  if (IsOne(alpha)) { return scalar_rsub(input, other); }
  return scalar_add(JUST(scalar_mul(input, Negated(alpha))), other);
}

Maybe<TensorPtr> Scale(const TensorPtr& input, Scalar other) {
  if (IsOne(other)) { return input; }
  return scalar_mul(input, other);
}

Maybe<TensorPtr> ToDtype(const TensorPtr& input, DataType dtype) {
  if (input->dtype() == dtype) { return input; }
  return cast(input, dtype);
}

Maybe<TensorPtr> CopyInto(const TensorPtr& input, const TensorPtr& other) {
  const TensorPtr operands[] = {input, other};
  JUST(DispatchInplace(kCopyOp, operands, 2, nullptr));
  return input;
}

}  // namespace oneflow::functional::composites
