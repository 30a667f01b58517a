#include "oneflow/functional/attr_helpers.h"
#include "oneflow/functional/composites.h"
#include "oneflow/functional/generated/functional.h"

namespace oneflow::functional::composites {

namespace {

// The sum over one dim, which stays with size 1.
Maybe<TensorPtr> SumKept(const TensorPtr& t, int64_t dim) {
  if (t->ndim() == 0) { return t; }
  return sum(t, Dims{dim}, true);
}

}  // namespace

Maybe<TensorPtr> LogSoftmaxBackwardGrad(const TensorPtr& dy, const TensorPtr& out, int64_t dim) {
  return sub(dy, JUST(SumKept(JUST(mul(dy, JUST(exp(out)))), dim)));
}

Maybe<TensorPtr> LogSoftmaxBackwardOutGrad(const TensorPtr& dy, const TensorPtr& grad,
                                           const TensorPtr& out, int64_t dim) {
  const TensorPtr weighted = JUST(mul(JUST(neg(dy)), JUST(exp(out))));
  return mul(weighted, JUST(SumKept(grad, dim)));
}

Maybe<TensorPtr> NllLoss(const TensorPtr& input, const TensorPtr& target, const TensorPtr& weight,
                         int64_t ignore_index, const std::string& reduction) {
  const bool narrow_classes = target->dtype() == DataType::kInt32;
  const TensorPtr classes = narrow_classes ? JUST(cast(target, DataType::kInt64)) : target;
  return JUST(nll_loss_pair(input, classes, weight, ignore_index, reduction))[0];
}

Maybe<TensorPtr> CrossEntropy(const TensorPtr& input, const TensorPtr& target,
                              const TensorPtr& weight, int64_t ignore_index,
                              const std::string& reduction) {
  if (input->ndim() == 0) {
    return RuntimeError("[cross_entropy] expects logits of shape (N, C, ...) or (C,), got ()");
  }
  return NllLoss(JUST(log_softmax(input, input->ndim() == 1 ? 0 : 1)), target, weight, ignore_index,
                 reduction);
}

}  // namespace oneflow::functional::composites
