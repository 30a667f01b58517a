#include <cmath>

#include "oneflow/functional/attr_helpers.h"
#include "oneflow/functional/composites_shape.h"
#include "oneflow/functional/dispatch.h"
#include "oneflow/functional/generated/functional.h"
#include "oneflow/functional/generated/functional_ops.h"
#include "oneflow/kernels/attrs_random.h"
#include "oneflow/op/op_attrs.h"

namespace oneflow::functional {

Maybe<uint64_t> RandintRange(const char* op, int64_t low, int64_t high) {
  if (low >= high) { return RuntimeError("[{}] expects low < high, got {} and {}", op, low, high); }
  return static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
}

Maybe<DataType> Int64Unless(const char*, std::optional<DataType> dtype) {
  return dtype.value_or(DataType::kInt64);
}

Maybe<DataType> BernoulliDtype(const char*, const TensorPtr& input, std::optional<DataType> dtype) {
  return dtype.value_or(IsFloating(input->dtype()) ? input->dtype() : DefaultDtype());
}

namespace composites {

Maybe<TensorPtr> Normal(double mean, double std, const Dims& size, std::optional<DataType> dtype,
                        std::optional<Device> device, const GeneratorPtr& generator) {
  if (!(std >= 0)) { return RuntimeError("[normal] expects std of at least 0, got {}", std); }
  RandnAttrs attrs;
  attrs.kernel.mean = mean;
  attrs.kernel.std = std;
  attrs.shape = IntList(size);
  DispatchOptions options;
  options.dtype = dtype.value_or(DefaultDtype());
  options.device = device.value_or(Device());
  options.generator = generator;
  TensorPtr output;
  JUST(Dispatch(kRandnOp, nullptr, 0, &attrs, &output, options));
  return output;
}

Maybe<TensorPtr> RandintLike(const TensorPtr& input, int64_t low, int64_t high,
                             std::optional<DataType> dtype, std::optional<Device> device,
                             const GeneratorPtr& generator) {
  return randint(low, high, input->shape(), dtype, device.value_or(input->device()), generator);
}

Maybe<TensorPtr> RandnLike(const TensorPtr& input, std::optional<DataType> dtype,
                           std::optional<Device> device, const GeneratorPtr& generator) {
  return randn(input->shape(), dtype.value_or(input->dtype()), device.value_or(input->device()),
               generator);
}

Maybe<TensorPtr> BernoulliInto(const TensorPtr& input, const GeneratorPtr& generator) {
  return copy_(input, JUST(bernoulli(input->Alias(), std::nullopt, generator)));
}

Maybe<TensorPtr> BernoulliOfInto(const TensorPtr& input, double p, const GeneratorPtr& generator) {
  return copy_(input, JUST(bernoulli_p(input->Alias(), p, std::nullopt, generator)));
}

Maybe<TensorPtr> ExponentialInto(const TensorPtr& input, double lambd,
                                 const GeneratorPtr& generator) {
  if (!input->contiguous()) {
    const TensorPtr drawn =
        JUST(exponential(input->shape(), lambd, input->dtype(), input->device(), generator));
    return copy_(input, drawn);
  }
  if (!IsFloating(input->dtype()) || !(lambd > 0.0)) {
    return RuntimeError(
        "[exponential_] expects a target of a floating dtype and a rate above 0, got "
        "{} and {}",
        DataTypeName(input->dtype()), lambd);
  }
  ExponentialOpAttrs attrs;
  attrs.kernel.rate = lambd;
  DispatchOptions options;
  options.generator = generator;
  JUST(DispatchInplace(kExponentialOp, &input, 1, &attrs, options));
  return input;
}

Maybe<TensorPtr> Multinomial(const TensorPtr& input, int64_t num_samples, bool replacement,
                             const GeneratorPtr& generator) {
  const bool wide = input->dtype() == DataType::kDouble || !IsFloating(input->dtype());
  const TensorPtr weights = wide ? input : JUST(to_dtype(input, DataType::kFloat));
  return multinomial_nd(JUST(contiguous(weights)), num_samples, replacement, generator);
}

}  // namespace composites

}  // namespace oneflow::functional
