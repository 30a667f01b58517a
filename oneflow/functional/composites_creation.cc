#include <cfloat>
#include <cmath>

#include "oneflow/functional/attr_helpers.h"
#include "oneflow/functional/composites.h"
#include "oneflow/functional/dispatch.h"
#include "oneflow/functional/generated/functional.h"
#include "oneflow/functional/generated/functional_ops.h"
#include "oneflow/op/op_attrs.h"

namespace oneflow::functional::composites {

namespace {

Maybe<void> CheckFloatingTarget(const char* op, const TensorPtr& target) {
  if (!IsFloating(target->dtype())) {
    return RuntimeError("[{}] expects a target of a floating dtype, got {} {}", op,
                        DataTypeName(target->dtype()), target->shape());
  }
  return Ok();
}

DispatchOptions From(const GeneratorPtr& generator) {
  DispatchOptions options;
  options.generator = generator;
  return options;
}

}  // namespace

Maybe<TensorPtr> Zeros(const Dims& size, OptDtype dtype, OptDevice device) {
  return full(size, Scalar(0), dtype.value_or(DefaultDtype()), device);
}

Maybe<TensorPtr> Ones(const Dims& size, OptDtype dtype, OptDevice device) {
  return full(size, Scalar(1), dtype.value_or(DefaultDtype()), device);
}

Maybe<TensorPtr> FullLike(const TensorPtr& input, Scalar value, OptDtype dtype, OptDevice device) {
  return full(input->shape(), value, dtype.value_or(input->dtype()),
              device.value_or(input->device()));
}

Maybe<TensorPtr> FillInto(const TensorPtr& input, Scalar value) {
  JUST(CheckFits("fill_", value, input->dtype()));
  FullAttrs attrs;
  attrs.kernel.value = value;
  JUST(DispatchInplace(kFullOp, &input, 1, &attrs));
  return input;
}

Maybe<TensorPtr> FillWithTensor(const TensorPtr& input, const TensorPtr& value) {
  if (value->Count() != 1) {
    return RuntimeError("[fill_] expects a value of one element, got shape {}", value->shape());
  }
  return copy_(input, JUST(reshape(value, Dims())));
}

Maybe<TensorPtr> NormalInto(const TensorPtr& input, double mean, double std,
                            const GeneratorPtr& generator) {
  JUST(CheckFloatingTarget("normal_", input));
  if (!(std >= 0)) { return RuntimeError("[normal_] expects std of at least 0, got {}", std); }
  RandnAttrs attrs;
  attrs.kernel.mean = mean;
  attrs.kernel.std = std;
  JUST(DispatchInplace(kRandnOp, &input, 1, &attrs, From(generator)));
  return input;
}

Maybe<TensorPtr> UniformInto(const TensorPtr& input, double a, double b,
                             const GeneratorPtr& generator) {
  JUST(CheckFloatingTarget("uniform_", input));
  const double widest = input->dtype() == DataType::kDouble ? DBL_MAX : FLT_MAX;
  if (!(a <= b && b - a <= widest && std::abs(a) <= widest && std::abs(b) <= widest)) {
    return RuntimeError("[uniform_] expects a <= b, with b - a in the range of {}, got a = {}, "
                        "b = {}",
                        DataTypeName(input->dtype()), a, b);
  }
  RandAttrs attrs;
  attrs.kernel.low = a;
  attrs.kernel.high = b;
  JUST(DispatchInplace(kRandOp, &input, 1, &attrs, From(generator)));
  return input;
}

}  // namespace oneflow::functional::composites
