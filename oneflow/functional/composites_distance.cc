#include "oneflow/functional/composites_distance.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "oneflow/core/shape.h"
#include "oneflow/functional/generated/functional_arithmetic.h"
#include "oneflow/functional/generated/functional_compare.h"
#include "oneflow/functional/generated/functional_elementwise.h"
#include "oneflow/functional/generated/functional_extremes.h"
#include "oneflow/functional/generated/functional_math.h"
#include "oneflow/functional/generated/functional_mixture.h"
#include "oneflow/functional/generated/functional_reduce.h"
#include "oneflow/functional/generated/functional_scatter.h"
#include "oneflow/functional/generated/functional_view.h"

namespace oneflow::functional::composites {

namespace {

// What a sum of squares is at least before its root is taken, since at zero the root has no
// derivative: the least number of the dtype.
double TinySquare(DataType dtype) {
  switch (dtype) {
    case DataType::kDouble: return std::numeric_limits<double>::denorm_min();
    case DataType::kFloat: return static_cast<double>(std::numeric_limits<float>::denorm_min());
    default: return 1e-40;  // of bfloat16; float16 goes by float32
  }
}

Maybe<void> CheckVectors(const char* op, const TensorPtr& x) {
  if (x->ndim() == 0 || !IsFloating(x->dtype())) {
    return RuntimeError("[{}] expects vectors of a floating dtype, got {} of shape {}", op,
                        DataTypeName(x->dtype()), x->shape());
  }
  return Ok();
}

// float16 holds no square of what is below 2e-4 or above 256: its vectors are taken as float32.
Maybe<TensorPtr> Widened(const TensorPtr& x) {
  return x->dtype() == DataType::kFloat16 ? cast(x, DataType::kFloat) : Maybe<TensorPtr>(x);
}
Maybe<TensorPtr> Narrowed(const TensorPtr& x, DataType dtype) {
  return x->dtype() == dtype ? Maybe<TensorPtr>(x) : cast(x, dtype);
}

Maybe<TensorPtr> SumOfSquares(const TensorPtr& x, int64_t dim, bool keepdim) {
  return sum(JUST(square(x)), Dims{dim}, keepdim);
}

// The root of a sum of squares, with derivative zero where that sum is zero.
Maybe<TensorPtr> Root(const TensorPtr& squares) {
  const TensorPtr root = JUST(sqrt(JUST(clamp_min(squares, Scalar(TinySquare(squares->dtype()))))));
  return mul(root, JUST(cast(JUST(scalar_gt(squares, Scalar(0.0))), root->dtype())));
}

// The p-norm of each vector along one dim.
Maybe<TensorPtr> Length(const TensorPtr& x, double p, int64_t dim, bool keepdim) {
  if (p == 2.0) { return Root(JUST(SumOfSquares(x, dim, keepdim))); }
  if (p == 0.0) {
    const TensorPtr used = JUST(cast(JUST(scalar_ne(x, Scalar(0.0))), x->dtype()));
    return sum(used, Dims{dim}, keepdim);
  }
  const TensorPtr sizes = JUST(abs(x));
  if (p == 1.0) { return sum(sizes, Dims{dim}, keepdim); }
  if (std::isinf(p)) {
    return p > 0 ? amax(sizes, Dims{dim}, keepdim) : amin(sizes, Dims{dim}, keepdim);
  }
  const TensorPtr total = JUST(sum(JUST(scalar_pow(sizes, Scalar(p))), Dims{dim}, keepdim));
  return scalar_pow(total, Scalar(1.0 / p));
}

Maybe<TensorPtr> Distance(const char* op, const TensorPtr& x1, const TensorPtr& x2, double p,
                          double eps, bool keepdim) {
  const TensorPtr plain = JUST(sub(x1, x2));
  JUST(CheckVectors(op, plain));
  const bool half = plain->dtype() == DataType::kFloat16;
  const TensorPtr wide = half ? JUST(sub(JUST(Widened(x1)), JUST(Widened(x2)))) : plain;
  const TensorPtr length =
      JUST(Length(JUST(scalar_add(wide, Scalar(eps))), p, plain->ndim() - 1, keepdim));
  return Narrowed(length, plain->dtype());
}

Maybe<TensorPtr> Reduced(const char* op, const TensorPtr& losses, const std::string& reduction) {
  if (reduction == "none") { return losses; }
  if (reduction == "sum") { return sum(losses); }
  if (reduction == "mean") { return mean(losses); }
  return ValueError("[{}] expects reduction none, sum or mean, got {}", op, reduction);
}

}  // namespace

Maybe<TensorPtr> Normalize(const TensorPtr& input, double p, int64_t dim, double eps,
                           bool /*kernel*/) {
  JUST(CheckVectors("normalize", input));
  const TensorPtr wide = JUST(Widened(input));
  const TensorPtr length = JUST(Length(wide, p, dim, /*keepdim=*/true));
  return Narrowed(JUST(div(wide, JUST(clamp_min(length, Scalar(eps))))), input->dtype());
}

Maybe<TensorPtr> CosineSimilarity(const TensorPtr& x, const TensorPtr& y, int64_t dim, double eps) {
  const TensorPtr product = JUST(mul(x, y));
  JUST(CheckVectors("cosine_similarity", product));
  if (product->dtype() == DataType::kFloat16) {
    const TensorPtr wide = JUST(CosineSimilarity(JUST(cast(x, DataType::kFloat)),
                                                 JUST(cast(y, DataType::kFloat)), dim, eps));
    return cast(wide, DataType::kFloat16);
  }
  // The vectors are broadcast first: dim counts in the shape that both have then.
  const TensorPtr a = JUST(expand(JUST(cast(x, product->dtype())), product->shape()));
  const TensorPtr b = JUST(expand(JUST(cast(y, product->dtype())), product->shape()));
  const Scalar least(std::max(eps, 1e-37));
  const TensorPtr dot = JUST(sum(product, Dims{dim}));
  const TensorPtr one = JUST(clamp_min(JUST(Root(JUST(SumOfSquares(a, dim, false)))), least));
  const TensorPtr other = JUST(clamp_min(JUST(Root(JUST(SumOfSquares(b, dim, false)))), least));
  return div(dot, JUST(mul(one, other)));
}

Maybe<TensorPtr> PairwiseDistance(const TensorPtr& x1, const TensorPtr& x2, double p, double eps,
                                  bool keepdim) {
  return Distance("pairwise_distance", x1, x2, p, eps, keepdim);
}

Maybe<TensorPtr> MarginRankingLoss(const TensorPtr& input_1, const TensorPtr& input_2,
                                   const TensorPtr& target, double margin,
                                   const std::string& reduction) {
  const TensorPtr product = JUST(mul(target, JUST(sub(input_2, input_1))));
  const TensorPtr losses = JUST(clamp_min(JUST(scalar_add(product, Scalar(margin))), Scalar(0.0)));
  return Reduced("margin_ranking_loss", losses, reduction);
}

Maybe<TensorPtr> TripletMarginLoss(const TensorPtr& anchor, const TensorPtr& positive,
                                   const TensorPtr& negative, double margin, double p, double eps,
                                   bool swap, const std::string& reduction) {
  const char* op = "triplet_margin_loss";
  const TensorPtr near = JUST(Distance(op, anchor, positive, p, eps, false));
  TensorPtr far = JUST(Distance(op, anchor, negative, p, eps, false));
  if (swap) { far = JUST(minimum(far, JUST(Distance(op, positive, negative, p, eps, false)))); }
  const TensorPtr over = JUST(scalar_add(JUST(sub(near, far)), Scalar(margin)));
  return Reduced(op, JUST(clamp_min(over, Scalar(0.0))), reduction);
}

Maybe<TensorPtr> CombinedMarginLoss(const TensorPtr& x, const TensorPtr& label, double m1,
                                    double m2, double m3) {
  if (x->ndim() != 2 || label->ndim() != 1 || label->shape()[0] != x->shape()[0]) {
    return RuntimeError("[combined_margin_loss] expects x (N, classes) and label (N,), got shapes "
                        "{} and {}",
                        x->shape(), label->shape());
  }
  // Only what is changed takes part, so that no other cosine needs an angle.
  const TensorPtr index = JUST(unsqueeze(label, 1));
  TensorPtr chosen = JUST(gather(x, 1, index));
  if (m1 != 1.0 || m2 != 0.0) {
    const TensorPtr angle = JUST(acos(chosen));
    chosen = JUST(cos(JUST(scalar_add(JUST(scale(angle, Scalar(m1))), Scalar(m2)))));
  }
  return scatter(x, 1, index, JUST(scalar_add(chosen, Scalar(-m3))));
}

}  // namespace oneflow::functional::composites
