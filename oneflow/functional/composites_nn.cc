#include "oneflow/functional/attr_helpers.h"
#include "oneflow/functional/composites.h"
#include "oneflow/functional/generated/functional.h"

namespace oneflow::functional::composites {

namespace {

Maybe<void> CheckMatmul(const TensorPtr& a, const TensorPtr& b) {
  if (a->ndim() == 0 || b->ndim() == 0) {
    return RuntimeError("[matmul] expects operands of at least one dimension, got {} and {}",
                        a->shape(), b->shape());
  }
  if (a->dtype() != b->dtype()) {
    return RuntimeError("[matmul] expects operands of one dtype, got {} {} and {} {}",
                        DataTypeName(a->dtype()), a->shape(), DataTypeName(b->dtype()), b->shape());
  }
  const Dims& right = b->shape();
  const int64_t rows = right[right.size() >= 2 ? right.size() - 2 : 0];
  if (a->shape().back() != rows) {
    return RuntimeError("[matmul] expects the last size of the first operand to be the last but "
                        "one of the second, got {} and {}",
                        a->shape(), right);
  }
  return Ok();
}

// All dims but the last as one.
Maybe<TensorPtr> AsMatrix(const TensorPtr& t) {
  int64_t rows = 1;
  for (int i = 0; i + 1 < t->ndim(); ++i) { rows *= t->shape()[i]; }
  return reshape(t, Dims{rows, t->shape().back()});
}

// The sum over one dim, which stays with size 1.
Maybe<TensorPtr> SumKept(const TensorPtr& t, int64_t dim) {
  if (t->ndim() == 0) { return t; }
  return sum(t, Dims{dim}, true);
}

// (..., k) x (k, n), as one product of matrices.
Maybe<TensorPtr> FoldedMatmul(const TensorPtr& a, const TensorPtr& matrix) {
  Dims shape = a->shape();
  shape[shape.size() - 1] = matrix->shape()[1];
  return reshape(JUST(matmul_nd(JUST(AsMatrix(a)), matrix)), shape);
}

}  // namespace

Maybe<TensorPtr> Matmul(const TensorPtr& input, const TensorPtr& other) {
  if (input->ndim() == 2 && other->ndim() == 2) { return matmul_nd(input, other); }
  JUST(CheckMatmul(input, other));
  if (other->ndim() == 1) {
    Dims shape = input->shape();
    shape.Erase(shape.size() - 1);
    const TensorPtr column = JUST(unsqueeze(other, 1));
    const TensorPtr matrix = input->ndim() == 1 ? JUST(unsqueeze(input, 0)) : input;
    return reshape(JUST(FoldedMatmul(matrix, column)), shape);
  }
  if (input->ndim() == 1) {
    const TensorPtr product = JUST(Matmul(JUST(unsqueeze(input, 0)), other));
    Dims shape = product->shape();
    shape.Erase(shape.size() - 2);
    return reshape(product, shape);
  }
  if (other->ndim() == 2) { return FoldedMatmul(input, other); }
  return matmul_nd(input, other);
}

Maybe<TensorPtr> LinearWeightGrad(const TensorPtr& dy, const TensorPtr& input) {
  return matmul_nd(JUST(t(JUST(AsMatrix(dy)))), JUST(AsMatrix(input)));
}

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
