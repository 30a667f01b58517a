#include "oneflow/functional/composites_softmax.h"

#include "oneflow/functional/attr_helpers_norm.h"
#include "oneflow/functional/composites.h"
#include "oneflow/functional/generated/functional_creation.h"
#include "oneflow/functional/generated/functional_elementwise.h"
#include "oneflow/functional/generated/functional_extremes.h"
#include "oneflow/functional/generated/functional_math.h"
#include "oneflow/functional/generated/functional_random.h"
#include "oneflow/functional/generated/functional_reduce.h"
#include "oneflow/functional/generated/functional_scatter.h"
#include "oneflow/functional/generated/functional_softmax.h"

namespace oneflow::functional::composites {

namespace {

// The sum over one dim, which stays with size 1.
Maybe<TensorPtr> SumKept(const TensorPtr& t, int64_t dim) {
  if (t->ndim() == 0) { return t; }
  return sum(t, Dims{dim}, true);
}

}  // namespace

Maybe<TensorPtr> SoftmaxBackwardOutGrad(const TensorPtr& dy, const TensorPtr& grad,
                                        const TensorPtr& out, int64_t dim) {
  const TensorPtr first = JUST(mul(dy, JUST(sub(grad, JUST(SumKept(JUST(mul(grad, out)), dim))))));
  return sub(first, JUST(mul(grad, JUST(SumKept(JUST(mul(dy, out)), dim)))));
}

Maybe<TensorPtr> LogSoftmaxBackwardGrad(const TensorPtr& dy, const TensorPtr& out, int64_t dim) {
  return sub(dy, JUST(SumKept(JUST(mul(dy, JUST(exp(out)))), dim)));
}

Maybe<TensorPtr> LogSoftmaxBackwardOutGrad(const TensorPtr& dy, const TensorPtr& grad,
                                           const TensorPtr& out, int64_t dim) {
  const TensorPtr weighted = JUST(mul(JUST(neg(dy)), JUST(exp(out))));
  return mul(weighted, JUST(SumKept(grad, dim)));
}

Maybe<TensorPtr> GumbelSoftmax(const TensorPtr& x, double tau, std::optional<int64_t> dim,
                               bool hard, const GeneratorPtr& generator) {
  if (!IsFloating(x->dtype())) {
    return RuntimeError("[gumbel_softmax] expects an input of a floating dtype, got {} {}",
                        DataTypeName(x->dtype()), x->shape());
  }
  const int64_t along = JUST(SoftmaxDim("gumbel_softmax", x, dim));
  const DataType drawn = x->dtype() == DataType::kDouble ? DataType::kDouble : DataType::kFloat;
  const TensorPtr e = JUST(exponential(x->shape(), 1.0, drawn, x->device(), generator));
  const TensorPtr gumbel = JUST(to_dtype(JUST(neg(JUST(log(e)))), x->dtype()));
  const TensorPtr moved = JUST(scale(JUST(add(x, gumbel)), Scalar(1.0 / tau)));
  const TensorPtr y = JUST(softmax(moved, along));
  if (!hard) { return y; }
  // One where y is largest; the gradient is that of y.
  const TensorPtr index = JUST(argmax(y->Alias(), along, true));
  const TensorPtr one = JUST(scatter_scalar(JUST(zeros_like(y->Alias())), along, index, Scalar(1)));
  return add(JUST(sub(one, y->Alias())), y);
}

}  // namespace oneflow::functional::composites
