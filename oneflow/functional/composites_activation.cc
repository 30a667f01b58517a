#include <cmath>

#include "oneflow/autograd/grad_mode.h"
#include "oneflow/functional/composites_math.h"
#include "oneflow/functional/generated/functional.h"

namespace oneflow::functional::composites {

namespace {

// f(input) written into input. Where the tape follows it, f saves a copy, since input changes.
template <typename Fn>
Maybe<TensorPtr> Into(const TensorPtr& input, const Fn& f) {
  const bool recorded = input->requires_grad() && GradModeEnabled();
  return copy_(input, JUST(f(recorded ? JUST(copy(input)) : input)));
}

// a + b * x.
Maybe<TensorPtr> Linear(double a, const TensorPtr& x, double b) {
  return scalar_add(JUST(scalar_mul(x, Scalar(b))), Scalar(a));
}

}  // namespace

Maybe<TensorPtr> GeluWithApproximate(const TensorPtr& input, const std::string& approximate) {
  if (approximate == "none") { return gelu(input); }
  if (approximate == "tanh") { return fast_gelu(input); }
  return ValueError("[gelu_with_approximate] expects an approximate of none or tanh, got {}",
                    approximate);
}

Maybe<TensorPtr> Celu(const TensorPtr& input, double alpha, bool inplace) {
  const auto f = [&](const TensorPtr& x) { return elu_scaled(x, alpha, 1.0, 1.0 / alpha); };
  return inplace ? Into(input, f) : f(input);
}

Maybe<TensorPtr> LeakyRelu(const TensorPtr& input, double alpha, bool inplace) {
  const auto f = [&](const TensorPtr& x) { return leaky_relu_slope(x, alpha); };
  return inplace ? Into(input, f) : f(input);
}

Maybe<TensorPtr> Hardshrink(const TensorPtr& input, double lambd, bool inplace) {
  const auto f = [&](const TensorPtr& x) { return hardshrink_by(x, lambd); };
  return inplace ? Into(input, f) : f(input);
}

Maybe<TensorPtr> Softshrink(const TensorPtr& input, double alpha, bool inplace) {
  if (!(alpha >= 0.0)) {
    return RuntimeError("[softshrink] expects an alpha that is not negative, got {}", alpha);
  }
  const auto f = [&](const TensorPtr& x) { return softshrink_by(x, alpha); };
  return inplace ? Into(input, f) : f(input);
}

Maybe<TensorPtr> Hardsigmoid(const TensorPtr& input, bool inplace) {
  const auto f = [&](const TensorPtr& x) { return hardsigmoid_of(x); };
  return inplace ? Into(input, f) : f(input);
}

Maybe<TensorPtr> ReluInplace(const TensorPtr& input, bool inplace) {
  return inplace ? relu_(input) : relu(input);
}

Maybe<TensorPtr> Prelu(const TensorPtr& input, const TensorPtr& alpha) {
  const int64_t count = alpha->Count();
  const int64_t channels = input->ndim() > 1 ? input->shape()[1] : 1;
  if (alpha->ndim() != 1 || (count != 1 && count != channels)) {
    return RuntimeError("[prelu] expects alpha with one element or one for each of the {} channels "
                        "of input {}, got {}",
                        channels, input->shape(), alpha->shape());
  }
  if (count == 1) { return prelu_elementwise(input, JUST(reshape(alpha, Dims()))); }
  Dims shape(input->ndim(), 1);
  shape[1] = channels;
  return prelu_elementwise(input, JUST(reshape(alpha, shape)));
}

Maybe<TensorPtr> Glu(const TensorPtr& input, int64_t dim) {
  const int axis = JUST(WrapDim("glu", dim, input->ndim()));
  if (input->ndim() == 0 || input->shape()[axis] % 2 != 0) {
    return RuntimeError("[glu] expects an even size along dim {}, got {}", dim, input->shape());
  }
  const int64_t half = input->shape()[axis] / 2;
  const TensorPtr gate = JUST(sigmoid(JUST(narrow(input, axis, half, half))));
  return mul(JUST(narrow(input, axis, 0, half)), gate);
}

namespace {

// With s = sigmoid(c x): c s (1 - s) (2 + c x (1 - 2 s)), the second derivative of x sigmoid(c x).
Maybe<TensorPtr> GatedCurve(const TensorPtr& input, double c) {
  const TensorPtr x = JUST(scalar_mul(input, Scalar(c)));
  const TensorPtr s = JUST(sigmoid(x));
  const TensorPtr slope = JUST(mul(s, JUST(Linear(c, s, -c))));
  const TensorPtr inner = JUST(mul(x, JUST(Linear(1.0, s, -2.0))));
  return mul(slope, JUST(scalar_add(inner, Scalar(2.0))));
}

}  // namespace

Maybe<TensorPtr> SiluCurve(const TensorPtr& input) { return GatedCurve(input, 1.0); }
Maybe<TensorPtr> QuickGeluCurve(const TensorPtr& input) { return GatedCurve(input, 1.702); }

// (1 - t^2) s (2 + x (1 - s - 2 t s)), t = tanh(log(1 + e^x)).
Maybe<TensorPtr> MishCurve(const TensorPtr& input) {
  const TensorPtr s = JUST(sigmoid(input));
  const TensorPtr t = JUST(tanh(JUST(softplus(input, 1.0, 40.0))));
  const TensorPtr bend = JUST(mul(s, JUST(Linear(1.0, t, 2.0))));
  const TensorPtr inner = JUST(mul(input, JUST(Linear(1.0, bend, -1.0))));
  const TensorPtr slope = JUST(mul(s, JUST(Linear(1.0, JUST(square(t)), -1.0))));
  return mul(slope, JUST(scalar_add(inner, Scalar(2.0))));
}

// p(x) (2 - x^2), p the normal density.
Maybe<TensorPtr> GeluCurve(const TensorPtr& input) {
  const TensorPtr squared = JUST(square(input));
  const TensorPtr density = JUST(exp(JUST(scalar_mul(squared, Scalar(-0.5)))));
  const TensorPtr curve = JUST(mul(density, JUST(Linear(2.0, squared, -1.0))));
  return scalar_mul(curve, Scalar(0.3989422804014327));
}

// With v(x) twice the inner polynomial and g = sigmoid(v): (2 v' + x (v'' + v'^2 (1 - 2 g))) g (1 - g).
Maybe<TensorPtr> FastGeluCurve(const TensorPtr& input) {
  constexpr double kScale = 2.0 * 0.7978845608028654;
  constexpr double kCube = 0.044715;
  const TensorPtr squared = JUST(square(input));
  const TensorPtr v = JUST(mul(input, JUST(Linear(kScale, squared, kScale * kCube))));
  const TensorPtr first = JUST(Linear(kScale, squared, 3.0 * kScale * kCube));
  const TensorPtr second = JUST(scalar_mul(input, Scalar(6.0 * kScale * kCube)));
  const TensorPtr g = JUST(sigmoid(v));
  const TensorPtr bend = JUST(mul(JUST(square(first)), JUST(Linear(1.0, g, -2.0))));
  const TensorPtr inner = JUST(mul(input, JUST(add(second, bend))));
  const TensorPtr sum = JUST(add(inner, first, Scalar(2)));
  return mul(sum, JUST(mul(g, JUST(Linear(1.0, g, -1.0)))));
}

Maybe<TensorPtr> SoftplusCurve(const TensorPtr& input, double beta, double threshold) {
  const TensorPtr scaled = JUST(scalar_mul(input, Scalar(beta)));
  const TensorPtr s = JUST(sigmoid(scaled));
  const TensorPtr slope = JUST(mul(s, JUST(Linear(beta, s, -beta))));
  return scalar_masked_fill(slope, JUST(scalar_gt(scaled, Scalar(threshold))), Scalar(0));
}

Maybe<TensorPtr> EluCurve(const TensorPtr& input, double alpha, double input_scale) {
  const TensorPtr grown = JUST(exp(JUST(scalar_mul(input, Scalar(input_scale)))));
  const TensorPtr curve = JUST(scalar_mul(grown, Scalar(alpha * input_scale * input_scale)));
  return scalar_masked_fill(curve, JUST(scalar_gt(input, Scalar(0))), Scalar(0));
}

}  // namespace oneflow::functional::composites
