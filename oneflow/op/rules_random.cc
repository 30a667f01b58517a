#include "oneflow/core/shape.h"
#include "oneflow/kernels/attrs_random.h"
#include "oneflow/op/rules_shape.h"

namespace oneflow {

Maybe<void> InferRandint(const InferContext& context, TensorMeta* outputs) {
  outputs[0].shape = context.GetAttrs<RandintOpAttrs>().shape.ToDims();
  JUST(CheckedBytes(context.op, outputs[0].shape, outputs[0].dtype));
  return Ok();
}

Maybe<void> InferBernoulli(const InferContext& context, TensorMeta* outputs) {
  const auto& attrs = context.GetAttrs<BernoulliOpAttrs>();
  const TensorMeta& input = *context.inputs[0];
  if (!attrs.kernel.has_p && !IsFloating(input.dtype)) {
    return RuntimeError("[{}] expects probabilities of a floating dtype, got {}", context.op,
                        DataTypeName(input.dtype));
  }
  if (attrs.kernel.has_p && !(attrs.kernel.p >= 0.0 && attrs.kernel.p <= 1.0)) {
    return RuntimeError("[{}] expects a probability in [0, 1], got {}", context.op, attrs.kernel.p);
  }
  outputs[0].shape = input.shape;
  outputs[0].dtype = attrs.dtype;
  return Ok();
}

Maybe<void> InferExponential(const InferContext& context, TensorMeta* outputs) {
  const auto& attrs = context.GetAttrs<ExponentialOpAttrs>();
  if (!IsFloating(outputs[0].dtype)) {
    return RuntimeError("[{}] expects a floating dtype, got {}", context.op,
                        DataTypeName(outputs[0].dtype));
  }
  if (!(attrs.kernel.rate > 0.0)) {
    return RuntimeError("[{}] expects a rate above 0, got {}", context.op, attrs.kernel.rate);
  }
  outputs[0].shape = attrs.shape.ToDims();
  JUST(CheckedBytes(context.op, outputs[0].shape, outputs[0].dtype));
  return Ok();
}

Maybe<void> InferRandperm(const InferContext& context, TensorMeta* outputs) {
  const int64_t n = context.GetAttrs<RandpermOpAttrs>().n;
  if (n < 0 || n >= int64_t{1} << 31) {
    return ValueError("[{}] expects n of at least 0 and below 2^31, got {}", context.op, n);
  }
  outputs[0].shape = Shape{n};
  return Ok();
}

Maybe<void> InferMultinomial(const InferContext& context, TensorMeta* outputs) {
  const auto& attrs = context.GetAttrs<MultinomialAttrs>();
  const Shape& shape = context.inputs[0]->shape;
  if (shape.empty() || shape.size() > 2 || shape.back() == 0 || !IsFloating(outputs[0].dtype)) {
    return RuntimeError("[{}] expects weights of shape (categories,) or (rows, categories), of a "
                        "floating dtype, got {} {}",
                        context.op, DataTypeName(outputs[0].dtype), shape);
  }
  if (attrs.num_samples < 1 || (!attrs.replacement && attrs.num_samples > shape.back())) {
    return RuntimeError("[{}] expects at least one sample, and without replacement no more than "
                        "there are categories, got {} of {}",
                        context.op, attrs.num_samples, shape.back());
  }
  outputs[0].shape = shape;
  outputs[0].shape[shape.size() - 1] = attrs.num_samples;
  outputs[0].dtype = DataType::kInt64;
  JUST(CheckedBytes(context.op, outputs[0].shape, outputs[0].dtype));
  return Ok();
}

}  // namespace oneflow
