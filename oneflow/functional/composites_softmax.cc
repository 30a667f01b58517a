#include "oneflow/functional/composites_softmax.h"

#include "oneflow/functional/composites.h"
#include "oneflow/functional/generated/functional_elementwise.h"
#include "oneflow/functional/generated/functional_math.h"
#include "oneflow/functional/generated/functional_reduce.h"

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

}  // namespace oneflow::functional::composites
