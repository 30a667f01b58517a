// What synchronised batch normalisation is made of: between these steps, processes exchange sums.
#include "oneflow/autograd/grad_mode.h"
#include "oneflow/core/shape.h"
#include "oneflow/functional/composites.h"
#include "oneflow/functional/composites_norm.h"
#include "oneflow/functional/generated/functional.h"

namespace oneflow::functional::composites {

namespace {

// (1, C, 1, ...), to broadcast against x.
Maybe<TensorPtr> AlongAxis(const TensorPtr& t, const TensorPtr& x, int64_t axis) {
  Dims shape(x->ndim(), 1);
  shape[static_cast<int>(axis)] = -1;
  return reshape(t, shape);
}

Maybe<TensorPtr> SumOfChannels(const TensorPtr& t, int64_t axis) {
  Dims dims;
  for (int d = 0; d < t->ndim(); ++d) {
    if (d != axis) { dims.PushBack(d); }
  }
  return sum(t, dims);
}

Maybe<TensorPtr> InverseStd(const TensorPtr& variance, double eps) {
  return rsqrt(JUST(scalar_add(variance, Scalar(eps))));
}

// old moves towards `to`, in place.
Maybe<void> Move(const TensorPtr& old, const TensorPtr& to, double momentum) {
  const TensorPtr kept = JUST(scale(old, Scalar(1.0 - momentum)));
  const TensorPtr moved = JUST(add(kept, JUST(scale(to, Scalar(momentum)))));
  JUST(copy_(old, JUST(to_dtype(moved, old->dtype()))));
  return Ok();
}

Maybe<int64_t> AxisOf(const char* op, const TensorPtr& x, int64_t axis) {
  return static_cast<int64_t>(JUST(WrapDim(op, axis, x->ndim())));
}

}  // namespace

Maybe<TensorTuple> BatchNormStats(const TensorPtr& input, int64_t axis, double eps) {
  const TensorTuple moments = JUST(channel_moments(input, axis));
  return TensorTuple{moments[0], JUST(InverseStd(moments[1], eps))};
}

Maybe<TensorTuple> BatchNormGatherStats(const TensorPtr& input, const TensorPtr& mean,
                                        const TensorPtr& invstd, const TensorPtr& running_mean,
                                        const TensorPtr& running_var, double momentum, double eps,
                                        const TensorPtr& counts) {
  if (mean->ndim() != 2 || invstd->shape() != mean->shape() ||
      counts->shape() != Dims{mean->shape()[0]}) {
    return RuntimeError(
        "[batch_norm_gather_stats_with_counts] expects means and invstds (W, C), and "
        "counts (W,), got {}, {} and {}",
        mean->shape(), invstd->shape(), counts->shape());
  }
  const ScopedGradMode no_grad(false);
  const TensorPtr n = JUST(unsqueeze(JUST(to_dtype(counts, mean->dtype())), 1));
  const TensorPtr total = JUST(sum(n));
  const TensorPtr center = JUST(div(JUST(sum(JUST(mul(mean, n)), Dims{0})), total));
  // The variance of each, and how far its mean is off.
  const TensorPtr own = JUST(scalar_add(JUST(reciprocal(JUST(square(invstd)))), Scalar(-eps)));
  const TensorPtr spread = JUST(add(own, JUST(square(JUST(sub(mean, center))))));
  const TensorPtr variance = JUST(div(JUST(sum(JUST(mul(spread, n)), Dims{0})), total));
  if (running_mean != nullptr) { JUST(Move(running_mean, center, momentum)); }
  if (running_var != nullptr) {
    const TensorPtr correction = JUST(div(total, JUST(scalar_add(total, Scalar(-1.0)))));
    JUST(Move(running_var, JUST(mul(variance, correction)), momentum));
  }
  return TensorTuple{center, JUST(InverseStd(variance, eps))};
}

Maybe<TensorPtr> BatchNormElemt(const TensorPtr& input, const TensorPtr& weight,
                                const TensorPtr& bias, const TensorPtr& mean,
                                const TensorPtr& invstd, int64_t axis, double) {
  const int64_t channel = JUST(AxisOf("batch_norm_elemt", input, axis));
  const auto along = [&](const TensorPtr& t) { return AlongAxis(t, input, channel); };
  const TensorPtr d = JUST(sub(input, JUST(along(mean))));
  const TensorPtr scaled = JUST(mul(d, JUST(along(JUST(mul(invstd, weight))))));
  return add(scaled, JUST(along(bias)));
}

Maybe<TensorTuple> BatchNormBackwardReduce(const TensorPtr& grad_out, const TensorPtr& input,
                                           const TensorPtr& mean, const TensorPtr& invstd,
                                           int64_t axis) {
  const int64_t channel = JUST(AxisOf("batch_norm_backward_reduce", input, axis));
  const TensorPtr d = JUST(sub(input, JUST(AlongAxis(mean, input, channel))));
  const TensorPtr sum_dy = JUST(SumOfChannels(grad_out, channel));
  const TensorPtr sum_dy_xmu = JUST(SumOfChannels(JUST(mul(grad_out, d)), channel));
  return TensorTuple{sum_dy, sum_dy_xmu, JUST(mul(sum_dy_xmu, invstd)), sum_dy};
}

Maybe<TensorPtr> BatchNormBackwardElemt(const TensorPtr& grad_out, const TensorPtr& input,
                                        const TensorPtr& mean, const TensorPtr& invstd,
                                        const TensorPtr& weight, const TensorPtr& sum_dy,
                                        const TensorPtr& sum_dy_xmu, const TensorPtr& count,
                                        int64_t axis) {
  const int64_t channel = JUST(AxisOf("batch_norm_backward_elemt", input, axis));
  const auto along = [&](const TensorPtr& t) { return AlongAxis(t, input, channel); };
  const TensorPtr total = JUST(sum(JUST(to_dtype(count, mean->dtype()))));
  const TensorPtr m = JUST(div(sum_dy, total));
  const TensorPtr k = JUST(mul(JUST(div(sum_dy_xmu, total)), JUST(square(invstd))));
  const TensorPtr d = JUST(sub(input, JUST(along(mean))));
  const TensorPtr centred = JUST(sub(grad_out, JUST(along(m))));
  const TensorPtr straight = JUST(sub(centred, JUST(mul(d, JUST(along(k))))));
  return mul(straight, JUST(along(JUST(mul(invstd, weight)))));
}

}  // namespace oneflow::functional::composites
