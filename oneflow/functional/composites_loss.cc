#include "oneflow/functional/composites_loss.h"

#include "oneflow/autograd/grad_mode.h"
#include "oneflow/core/shape.h"
#include "oneflow/functional/composites.h"
#include "oneflow/functional/generated/functional_compare.h"
#include "oneflow/functional/generated/functional_creation.h"
#include "oneflow/functional/generated/functional_elementwise.h"
#include "oneflow/functional/generated/functional_loss.h"
#include "oneflow/functional/generated/functional_math.h"
#include "oneflow/functional/generated/functional_pool.h"
#include "oneflow/functional/generated/functional_reduce.h"
#include "oneflow/functional/generated/functional_view.h"
#include "oneflow/kernels/attrs_norm.h"

namespace oneflow::functional::composites {

// ---- losses between elements --------------------------------------------------------------------

namespace {

// A tensor in a dtype and shape that it broadcasts to; nothing stays nothing.
Maybe<TensorPtr> Fitted(const TensorPtr& t, DataType dtype, const Dims& shape) {
  if (t == nullptr) { return t; }
  const TensorPtr wanted = t->dtype() == dtype ? t : JUST(cast(t, dtype));
  return wanted->shape() == shape ? Maybe<TensorPtr>(wanted) : expand(wanted, shape);
}

Maybe<TensorPtr> Pointwise(const char* op, LossKind kind, const TensorPtr& x, const TensorPtr& t,
                           const TensorPtr& weight, const TensorPtr& pos_weight, double beta,
                           const std::string& reduction) {
  const auto number = static_cast<int64_t>(kind);
  const bool alike = x->dtype() == t->dtype() && x->shape() == t->shape();
  if (alike && weight == nullptr && pos_weight == nullptr && IsFloating(x->dtype())) {
    return pointwise_loss(x, t, nullptr, nullptr, number, reduction, beta);
  }
  const DataType dtype = PromoteTypes(x->dtype(), t->dtype());
  if (!IsFloating(dtype)) {
    return RuntimeError("[{}] expects an operand of a floating dtype, got {} and {}", op,
                        DataTypeName(x->dtype()), DataTypeName(t->dtype()));
  }
  Dims shape = JUST(BroadcastShapes(op, x->shape(), t->shape()));
  if (weight != nullptr) { shape = JUST(BroadcastShapes(op, shape, weight->shape())); }
  if (pos_weight != nullptr) { shape = JUST(BroadcastShapes(op, shape, pos_weight->shape())); }
  return pointwise_loss(JUST(Fitted(x, dtype, shape)), JUST(Fitted(t, dtype, shape)),
                        JUST(Fitted(weight, dtype, shape)), JUST(Fitted(pos_weight, dtype, shape)),
                        number, reduction, beta);
}

}  // namespace

Maybe<TensorPtr> MseLoss(const TensorPtr& input, const TensorPtr& target,
                         const std::string& reduction) {
  return Pointwise("mse_loss", LossKind::kSquare, input, target, nullptr, nullptr, 1.0, reduction);
}

Maybe<TensorPtr> L1Loss(const TensorPtr& input, const TensorPtr& target,
                        const std::string& reduction) {
  return Pointwise("l1_loss", LossKind::kAbsolute, input, target, nullptr, nullptr, 1.0, reduction);
}

Maybe<TensorPtr> SmoothL1Loss(const TensorPtr& logits, const TensorPtr& label, double beta,
                              const std::string& reduction) {
  if (beta < 0.0) {
    return ValueError("[smooth_l1_loss] expects beta of at least 0, got {}", beta);
  }
  return Pointwise("smooth_l1_loss", LossKind::kSmooth, logits, label, nullptr, nullptr, beta,
                   reduction);
}

Maybe<TensorPtr> HuberLoss(const TensorPtr& input, const TensorPtr& target,
                           const std::string& reduction, double delta) {
  if (delta <= 0.0) { return ValueError("[huber_loss] expects a positive delta, got {}", delta); }
  return Pointwise("huber_loss", LossKind::kHuber, input, target, nullptr, nullptr, delta,
                   reduction);
}

Maybe<TensorPtr> KlDivLoss(const TensorPtr& input, const TensorPtr& target, bool log_target,
                           const std::string& reduction) {
  const LossKind kind = log_target ? LossKind::kLogDivergence : LossKind::kDivergence;
  if (reduction == "batchmean" && input->ndim() > 0) {
    const TensorPtr sum =
        JUST(Pointwise("kl_div_loss", kind, input, target, nullptr, nullptr, 1.0, "sum"));
    return scalar_div(sum, Scalar(static_cast<double>(input->shape()[0])));
  }
  return Pointwise("kl_div_loss", kind, input, target, nullptr, nullptr, 1.0,
                   reduction == "batchmean" ? "sum" : reduction);
}

Maybe<TensorPtr> BceLoss(const TensorPtr& input, const TensorPtr& target, const TensorPtr& weight,
                         const std::string& reduction) {
  if (input->shape() != target->shape()) {
    return ValueError("[binary_cross_entropy_loss] expects a target of the input's shape {}, got "
                      "{}",
                      input->shape(), target->shape());
  }
  return Pointwise("binary_cross_entropy_loss", LossKind::kBinary, input, target, weight, nullptr,
                   1.0, reduction);
}

Maybe<TensorPtr> BceWithLogitsLoss(const TensorPtr& input, const TensorPtr& target,
                                   const TensorPtr& weight, const TensorPtr& pos_weight,
                                   const std::string& reduction) {
  if (input->shape() != target->shape()) {
    return ValueError("[binary_cross_entropy_with_logits_loss] expects a target of the input's "
                      "shape {}, got {}",
                      input->shape(), target->shape());
  }
  return Pointwise("binary_cross_entropy_with_logits_loss", LossKind::kLogits, input, target,
                   weight, pos_weight, 1.0, reduction);
}

namespace {

// The derivative of each element by x, or by t, from ops that have one. `exact` is its value.
class PlainDerivative {
 public:
  PlainDerivative(const TensorPtr& x, const TensorPtr& t, const TensorPtr& pos_weight, double beta,
                  const TensorPtr& exact)
      : x_(x), t_(t), pos_weight_(pos_weight), beta_(beta), exact_(exact) {}

  Maybe<TensorPtr> Of(LossKind kind, bool by_target) const {
    switch (kind) {
      case LossKind::kSquare: return scale(JUST(Difference(by_target)), Scalar(2.0));
      case LossKind::kAbsolute: return exact_;
      case LossKind::kSmooth: return Clipped(by_target, 1.0 / beta_, 1.0);
      case LossKind::kHuber: return Clipped(by_target, 1.0, beta_);
      case LossKind::kBinary: return by_target ? BinaryByTarget() : Binary();
      case LossKind::kLogits: return by_target ? LogitsByTarget() : Logits();
      case LossKind::kDivergence: return by_target ? DivergenceByTarget() : Divergence();
      case LossKind::kLogDivergence: break;
    }
    const TensorPtr e = JUST(exp(t_));
    if (!by_target) { return neg(e); }
    return mul(e, JUST(scalar_add(JUST(sub(t_, x_)), Scalar(1.0))));
  }

 private:
  Maybe<TensorPtr> Difference(bool by_target) const {
    return by_target ? sub(t_, x_) : sub(x_, t_);
  }

  // slope * d, but where that is past the limit the exact value, which is constant there.
  Maybe<TensorPtr> Clipped(bool by_target, double slope, double limit) const {
    if (beta_ == 0.0) { return exact_; }
    const TensorPtr line = JUST(scale(JUST(Difference(by_target)), Scalar(slope)));
    const TensorPtr above = JUST(cast(JUST(scalar_eq(exact_, Scalar(limit))), x_->dtype()));
    const TensorPtr below = JUST(cast(JUST(scalar_eq(exact_, Scalar(-limit))), x_->dtype()));
    const TensorPtr past = JUST(add(above, below));
    return add(JUST(mul(line, JUST(rsub(past, Scalar(1.0))))), JUST(mul(exact_, past)));
  }

  // (x - t) / (x (1 - x))
  Maybe<TensorPtr> Binary() const {
    const TensorPtr product = JUST(mul(x_, JUST(rsub(x_, Scalar(1.0)))));
    return div(JUST(sub(x_, t_)), product);
  }
  Maybe<TensorPtr> BinaryByTarget() const {
    return sub(JUST(log(JUST(rsub(x_, Scalar(1.0))))), JUST(log(x_)));
  }

  // 1 + (p - 1) t
  Maybe<TensorPtr> Factor() const {
    return scalar_add(JUST(mul(JUST(scalar_add(pos_weight_, Scalar(-1.0))), t_)), Scalar(1.0));
  }
  // (1 - t) - (1 + (p - 1) t) sigmoid(-x), sigmoid(-x) = (1 - tanh(x / 2)) / 2
  Maybe<TensorPtr> Logits() const {
    const TensorPtr half = JUST(tanh(JUST(scale(x_, Scalar(0.5)))));
    TensorPtr no = JUST(scale(JUST(rsub(half, Scalar(1.0))), Scalar(0.5)));
    if (pos_weight_ != nullptr) { no = JUST(mul(no, JUST(Factor()))); }
    return sub(JUST(rsub(t_, Scalar(1.0))), no);
  }
  // (p - 1) ln(1 + exp(-x)) - x
  Maybe<TensorPtr> LogitsByTarget() const {
    if (pos_weight_ == nullptr) { return neg(x_); }
    const TensorPtr more = JUST(scalar_add(JUST(exp(JUST(neg(x_)))), Scalar(1.0)));
    const TensorPtr rest = JUST(scalar_add(pos_weight_, Scalar(-1.0)));
    return sub(JUST(mul(rest, JUST(log(more)))), x_);
  }

  // 1 where t > 0, else 0: what the value tells.
  Maybe<TensorPtr> Positive() const {
    const TensorPtr zero = JUST(cast(JUST(scalar_eq(exact_, Scalar(0.0))), x_->dtype()));
    return rsub(zero, Scalar(1.0));
  }
  Maybe<TensorPtr> Divergence() const { return neg(JUST(mul(t_, JUST(Positive())))); }
  Maybe<TensorPtr> DivergenceByTarget() const {
    return sub(JUST(scalar_add(JUST(log(t_)), Scalar(1.0))), x_);
  }

  const TensorPtr& x_;
  const TensorPtr& t_;
  const TensorPtr& pos_weight_;
  const double beta_;
  const TensorPtr& exact_;
};

// Whether the derivative is made of input and target, whichever it is by. Else one of them may have a
// second derivative that is zero everywhere: who asks for it gets zeros, not "not used".
bool FollowsBoth(LossKind kind, double beta) {
  return kind == LossKind::kSquare || kind == LossKind::kHuber ||
         (kind == LossKind::kSmooth && beta != 0.0);
}

}  // namespace

Maybe<TensorPtr> PointwiseLossGrad(const TensorPtr& grad, const TensorPtr& input,
                                   const TensorPtr& target, const TensorPtr& weight,
                                   const TensorPtr& pos_weight, int64_t kind,
                                   const std::string& reduction, double beta, bool by_target) {
  if (!GradModeEnabled()) {
    return pointwise_loss_backward(grad, input, target, weight, pos_weight, kind, reduction, beta,
                                   by_target);
  }
  TensorPtr exact;
  {
    const ScopedGradMode no_grad(false);
    exact = JUST(pointwise_loss_backward(JUST(ones_like(input)), input, target, nullptr, pos_weight,
                                         kind, "none", beta, by_target));
  }
  const PlainDerivative derivative(input, target, pos_weight, beta, exact);
  TensorPtr dx = JUST(derivative.Of(static_cast<LossKind>(kind), by_target));
  if (!FollowsBoth(static_cast<LossKind>(kind), beta)) {
    dx = JUST(depending_on(JUST(depending_on(dx, input)), target));
  }
  if (weight != nullptr) { dx = JUST(mul(dx, weight)); }
  if (reduction == "mean") {
    dx = JUST(scale(dx, Scalar(1.0 / static_cast<double>(input->Count()))));
  }
  return mul(dx, grad);
}

}  // namespace oneflow::functional::composites
