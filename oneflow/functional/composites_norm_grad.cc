// Gradients of norms.
#include "oneflow/autograd/grad_mode.h"
#include "oneflow/functional/composites.h"
#include "oneflow/functional/composites_norm.h"
#include "oneflow/functional/generated/functional_batch_norm.h"
#include "oneflow/functional/generated/functional_creation.h"
#include "oneflow/functional/generated/functional_elementwise.h"
#include "oneflow/functional/generated/functional_norm.h"
#include "oneflow/functional/generated/functional_reduce.h"
#include "oneflow/functional/generated/functional_view.h"

namespace oneflow::functional::composites {

namespace {

DataType ComputingDtype(DataType dtype) {
  return dtype == DataType::kDouble ? DataType::kDouble : DataType::kFloat;
}

// 1 / sqrt(variance), whose value is known, with a history: Newton's steps on
// s -> s (3 - variance s^2) / 2 leave the value as it is and get the first 2^steps - 1 derivatives
// right.
Maybe<TensorPtr> InverseRoot(const TensorPtr& variance, const TensorPtr& value) {
  constexpr int kSteps = 2;
  TensorPtr s = value;
  for (int i = 0; i < kSteps; ++i) {
    const TensorPtr product = JUST(mul(variance, JUST(square(s))));
    s = JUST(mul(s, JUST(rsub(JUST(scale(product, Scalar(0.5))), Scalar(1.5)))));
  }
  return s;
}

// 1 / sqrt(variance + epsilon), without a history: what ones are normalised to.
Maybe<TensorPtr> InverseRootOf(const TensorPtr& variance, double epsilon) {
  const ScopedGradMode no_grad(false);
  const TensorPtr ones = JUST(unsqueeze(JUST(ones_like(variance)), 0));
  return batch_normalize_inference(ones, JUST(zeros_like(variance)), variance, nullptr, nullptr, 1,
                                   epsilon);
}

// Dims of size 1 for those that are reduced, in a shape like x's.
Dims KeptShape(const Dims& x, const Dims& axes) {
  Dims shape = x;
  for (int64_t d : axes) { shape[static_cast<int>(d)] = 1; }
  return shape;
}

// The normalised input (x - mean) * s, whose statistics are over `axes` of x.
struct Normalised {
  TensorPtr x_hat, s;
};

Maybe<Normalised> Normalise(const TensorPtr& x, const Dims& axes, const TensorPtr& inv_std,
                            double epsilon, bool center) {
  TensorPtr d = x;
  if (center) { d = JUST(sub(x, JUST(mean(x, axes, true)))); }
  const TensorPtr variance = JUST(mean(JUST(square(d)), axes, true));
  const TensorPtr value = JUST(reshape(inv_std, KeptShape(x->shape(), axes)));
  Normalised out;
  out.s = JUST(InverseRoot(JUST(scalar_add(variance, Scalar(epsilon))), value));
  out.x_hat = JUST(mul(d, out.s));
  return out;
}

// s (g - mean(g) - x_hat mean(g x_hat))
Maybe<TensorPtr> InputGrad(const TensorPtr& g, const Normalised& n, const Dims& axes, bool center) {
  const TensorPtr slope = JUST(mean(JUST(mul(g, n.x_hat)), axes, true));
  TensorPtr dx = JUST(sub(g, JUST(mul(n.x_hat, slope))));
  if (center) { dx = JUST(sub(dx, JUST(mean(g, axes, true)))); }
  return mul(dx, n.s);
}

Maybe<TensorPtr> Times(const TensorPtr& grad, const TensorPtr& weight) {
  return weight == nullptr ? Maybe<TensorPtr>(grad) : mul(grad, weight);
}

// The operands in the computing dtype; the weight in a shape that broadcasts against the input.
struct Wide {
  TensorPtr grad, x, weight;
};

Maybe<Wide> Widen(const TensorPtr& grad, const TensorPtr& x, const TensorPtr& weight,
                  const Dims& weight_shape) {
  const DataType wide = ComputingDtype(x->dtype());
  Wide out;
  out.grad = JUST(to_dtype(grad, wide));
  out.x = JUST(to_dtype(x, wide));
  if (weight != nullptr) { out.weight = JUST(reshape(JUST(to_dtype(weight, wide)), weight_shape)); }
  return out;
}

// The gradients in the operands' dtypes: input, weight, bias.
Maybe<TensorTuple> Narrow(const TensorPtr& dx, const TensorPtr& grad, const TensorPtr& x_hat,
                          const TensorPtr& x, const TensorPtr& weight, const Dims& weight_shape) {
  const DataType dtype = weight == nullptr ? ComputingDtype(x->dtype()) : weight->dtype();
  const Dims flat = weight == nullptr ? Dims{-1} : weight->shape();
  const TensorPtr dw = JUST(sum_to_shape(JUST(mul(grad, x_hat)), weight_shape));
  const TensorPtr db = JUST(sum_to_shape(grad, weight_shape));
  return TensorTuple{JUST(to_dtype(dx, x->dtype())), JUST(to_dtype(JUST(reshape(dw, flat)), dtype)),
                     JUST(to_dtype(JUST(reshape(db, flat)), dtype))};
}

// (1, C, 1, ...)
Dims ChannelShape(const TensorPtr& x, int64_t axis) {
  Dims shape(x->ndim(), 1);
  shape[static_cast<int>(axis)] = x->shape()[static_cast<int>(axis)];
  return shape;
}

}  // namespace

Maybe<TensorTuple> LayerNormalizeGrad(const TensorPtr& grad, const TensorPtr& input,
                                      const TensorPtr& weight, const TensorPtr& mean,
                                      const TensorPtr& inv_std, int64_t begin_axis, double epsilon,
                                      bool center) {
  if (!GradModeEnabled()) {
    return layer_normalize_backward(grad, input, weight, mean, inv_std, begin_axis, epsilon,
                                    center);
  }
  Dims axes, shape;
  for (int d = static_cast<int>(begin_axis); d < input->ndim(); ++d) {
    axes.PushBack(d);
    shape.PushBack(input->shape()[d]);
  }
  const Wide w = JUST(Widen(grad, input, weight, shape));
  const Normalised n = JUST(Normalise(w.x, axes, inv_std, epsilon, center));
  const TensorPtr dx = JUST(InputGrad(JUST(Times(w.grad, w.weight)), n, axes, center));
  return Narrow(dx, w.grad, n.x_hat, input, weight, shape);
}

Maybe<TensorTuple> BatchNormalizeGrad(const TensorPtr& grad, const TensorPtr& input,
                                      const TensorPtr& weight, const TensorPtr& mean,
                                      const TensorPtr& variance, int64_t axis, double epsilon,
                                      bool training) {
  if (!GradModeEnabled()) {
    return batch_normalize_backward(grad, input, weight, mean, variance, axis, epsilon, training);
  }
  Dims axes;
  for (int d = 0; d < input->ndim(); ++d) {
    if (d != axis) { axes.PushBack(d); }
  }
  const Dims shape = ChannelShape(input, axis);
  const Wide w = JUST(Widen(grad, input, weight, shape));
  const TensorPtr root = JUST(InverseRootOf(JUST(to_dtype(variance, w.x->dtype())), epsilon));
  const TensorPtr g = JUST(Times(w.grad, w.weight));
  Normalised n;
  if (training) {
    n = JUST(Normalise(w.x, axes, root, epsilon, true));
    return Narrow(JUST(InputGrad(g, n, axes, true)), w.grad, n.x_hat, input, weight, shape);
  }
  const TensorPtr center = JUST(reshape(JUST(to_dtype(mean, w.x->dtype())), shape));
  n.s = JUST(reshape(root, shape));
  n.x_hat = JUST(mul(JUST(sub(w.x, center)), n.s));
  return Narrow(JUST(mul(g, n.s)), w.grad, n.x_hat, input, weight, shape);
}

Maybe<TensorTuple> GroupNormalizeGrad(const TensorPtr& grad, const TensorPtr& input,
                                      const TensorPtr& weight, const TensorPtr& mean,
                                      const TensorPtr& inv_std, int64_t groups, double epsilon) {
  if (!GradModeEnabled()) {
    return group_normalize_backward(grad, input, weight, mean, inv_std, groups, epsilon);
  }
  const Dims shape = ChannelShape(input, 1);
  const Wide w = JUST(Widen(grad, input, weight, shape));
  const int64_t samples = input->shape()[0];
  const int64_t count = samples == 0 ? 0 : input->Count() / (samples * groups);
  const Dims grouped{samples, groups, count};
  const Dims axes{2};
  Normalised n = JUST(Normalise(JUST(reshape(w.x, grouped)), axes, inv_std, epsilon, true));
  const TensorPtr g = JUST(reshape(JUST(Times(w.grad, w.weight)), grouped));
  const TensorPtr dx = JUST(reshape(JUST(InputGrad(g, n, axes, true)), input->shape()));
  const TensorPtr x_hat = JUST(reshape(n.x_hat, input->shape()));
  return Narrow(dx, w.grad, x_hat, input, weight, shape);
}

}  // namespace oneflow::functional::composites
