// Losses with classes.
#include <cmath>
#include <limits>

#include "oneflow/autograd/grad_mode.h"
#include "oneflow/functional/attr_helpers.h"
#include "oneflow/functional/autocast.h"
#include "oneflow/functional/composites.h"
#include "oneflow/functional/composites_loss.h"
#include "oneflow/functional/generated/functional_class_loss.h"
#include "oneflow/functional/generated/functional_creation.h"
#include "oneflow/functional/generated/functional_ctc.h"
#include "oneflow/functional/generated/functional_elementwise.h"
#include "oneflow/functional/generated/functional_math.h"
#include "oneflow/functional/generated/functional_reduce.h"
#include "oneflow/functional/generated/functional_softmax.h"
#include "oneflow/functional/generated/functional_view.h"

namespace oneflow::functional::composites {

Maybe<TensorPtr> NllLoss(const TensorPtr& input, const TensorPtr& target, const TensorPtr& weight,
                         int64_t ignore_index, const std::string& reduction) {
  const bool narrow_classes = target->dtype() != DataType::kInt64 && IsIntegral(target->dtype());
  const TensorPtr classes = narrow_classes ? JUST(cast(target, DataType::kInt64)) : target;
  return JUST(nll_loss_pair(input, classes, weight, ignore_index, reduction))[0];
}
namespace {

Maybe<TensorPtr> FittedWeight(const TensorPtr& weight, const TensorPtr& x) {
  if (weight == nullptr || weight->dtype() == x->dtype()) { return weight; }
  const bool is_short = x->dtype() == DataType::kFloat16 || x->dtype() == DataType::kBFloat16;
  if (is_short && weight->dtype() == DataType::kFloat) { return weight; }
  return cast(weight, x->dtype());
}

Maybe<TensorPtr> Reduced(const char* op, const TensorPtr& x, const std::string& reduction) {
  switch (JUST(ParseReduction(op, reduction))) {
    case Reduction::kMean: return mean(x);
    case Reduction::kSum: return sum(x);
    case Reduction::kNone: break;
  }
  return x;
}

}  // namespace

Maybe<TensorPtr> CrossEntropy(const TensorPtr& input, const TensorPtr& target,
                              const TensorPtr& weight, int64_t ignore_index,
                              const std::string& reduction, double label_smoothing) {
  if (input->ndim() == 0) {
    return RuntimeError("[cross_entropy] expects logits of shape (N, C, ...) or (C,), got ()");
  }
  if (label_smoothing < 0.0 || label_smoothing > 1.0) {
    return RuntimeError("[cross_entropy] expects label_smoothing in [0, 1], got {}",
                        label_smoothing);
  }
  if (IsFloating(target->dtype()) && target->shape() == input->shape()) {
    return CrossEntropyProb(input, target, weight, reduction, label_smoothing);
  }
  // Autocast wants the loss in float32, which does not ask for a copy of the logits.
  const bool wide = autocast::Enabled() && input->dtype() == DataType::kBFloat16;
  const autocast::Pause pause(wide);
  return JUST(softmax_loss(input, target, JUST(FittedWeight(weight, input)),
                           input->ndim() == 1 ? 0 : 1, ignore_index, reduction, label_smoothing,
                           wide))[0];
}

Maybe<TensorPtr> CrossEntropyProb(const TensorPtr& input, const TensorPtr& target,
                                  const TensorPtr& weight, const std::string& reduction,
                                  double label_smoothing) {
  const int64_t dim = input->ndim() == 1 ? 0 : 1;
  const int64_t classes = input->shape()[static_cast<int>(dim)];
  TensorPtr wanted = target;
  if (label_smoothing > 0.0) {
    wanted = JUST(scalar_add(JUST(scale(target, Scalar(1.0 - label_smoothing))),
                             Scalar(label_smoothing / static_cast<double>(classes))));
  }
  TensorPtr terms = JUST(mul(JUST(log_softmax(input, dim)), wanted));
  if (weight != nullptr) {
    Dims shape(input->ndim(), 1);
    shape[static_cast<int>(dim)] = classes;
    if (weight->shape() != Dims{classes}) {
      return RuntimeError("[cross_entropy] expects a weight of shape ({},), got {}", classes,
                          weight->shape());
    }
    terms = JUST(mul(terms, JUST(reshape(weight, shape))));
  }
  return Reduced("cross_entropy", JUST(neg(JUST(sum(terms, Dims{dim})))), reduction);
}

Maybe<TensorPtr> SparseSoftmaxCrossEntropy(const TensorPtr& logits, const TensorPtr& label) {
  if (logits->ndim() == 0) {
    return RuntimeError("[sparse_softmax_cross_entropy] expects logits (..., C), got ()");
  }
  // No label is ignored.
  return JUST(softmax_loss(logits, label, nullptr, logits->ndim() - 1,
                           std::numeric_limits<int64_t>::min(), "none", 0.0, false))[0];
}

Maybe<TensorPtr> SparseCrossEntropy(const TensorPtr& prediction, const TensorPtr& label,
                                    int64_t depth) {
  if (prediction->ndim() == 0 || prediction->shape().back() != depth) {
    return RuntimeError("[sparse_cross_entropy] expects probabilities (..., {}), got {}", depth,
                        prediction->shape());
  }
  Dims flat{-1, depth};
  const TensorPtr logs = JUST(log(JUST(reshape(prediction, flat))));
  const TensorPtr losses = JUST(nll_loss(logs, JUST(reshape(label, Dims{-1})), nullptr,
                                         std::numeric_limits<int64_t>::min(), "none"));
  return reshape(losses, label->shape());
}

Maybe<TensorPtr> SoftmaxCrossEntropy(const TensorPtr& logits, const TensorPtr& label) {
  if (logits->ndim() == 0 || logits->shape() != label->shape()) {
    return RuntimeError("[softmax_cross_entropy] expects labels of the logits' shape {}, got {}",
                        logits->shape(), label->shape());
  }
  const TensorPtr terms = JUST(mul(JUST(log_softmax(logits, -1)), label));
  return neg(JUST(sum(terms, Dims{-1})));
}

Maybe<TensorPtr> SoftmaxLossGrad(const TensorPtr& grad, const TensorPtr& input,
                                 const TensorPtr& target, const TensorPtr& weight,
                                 const TensorPtr& total_weight, const TensorPtr& max,
                                 const TensorPtr& log_sum, int64_t class_dim, int64_t ignore_index,
                                 const std::string& reduction, double label_smoothing) {
  if (!GradModeEnabled()) {
    return softmax_loss_backward(grad, input, target, weight, total_weight, max, log_sum, class_dim,
                                 ignore_index, reduction, label_smoothing);
  }
  // dx = grad (A softmax(x) - K), where A and K depend on the targets alone. The kernel gives -K
  // where the softmax is nothing, and A is the sum of K.
  TensorPtr minus_k, a;
  {
    const ScopedGradMode no_grad(false);
    const TensorPtr infinite = JUST(full_like(log_sum, Scalar(INFINITY)));
    minus_k = JUST(softmax_loss_backward(JUST(ones_like(grad)), JUST(zeros_like(input)), target,
                                         weight, total_weight, JUST(zeros_like(max)), infinite,
                                         class_dim, ignore_index, reduction, label_smoothing));
    a = JUST(neg(JUST(sum(minus_k, Dims{class_dim}, true))));
  }
  TensorPtr dx = JUST(add(JUST(mul(JUST(softmax(input, class_dim)), a)), minus_k));
  dx = JUST(mul(dx, reduction == "none" ? JUST(unsqueeze(grad, class_dim)) : grad));
  return dx->dtype() == input->dtype() ? Maybe<TensorPtr>(dx) : cast(dx, input->dtype());
}

Maybe<TensorPtr> CtcLoss(const TensorPtr& log_probs, const TensorPtr& targets,
                         const TensorPtr& input_lengths, const TensorPtr& target_lengths,
                         int64_t max_target_length, int64_t blank, bool zero_infinity,
                         const std::string& reduction) {
  const Reduction wanted = JUST(ParseReduction("ctc_loss", reduction));
  const TensorTuple out = JUST(ctc_loss_of(log_probs, targets, input_lengths, target_lengths,
                                           max_target_length, blank, zero_infinity));
  if (wanted == Reduction::kNone) { return out[0]; }
  if (wanted == Reduction::kSum) { return sum(out[0]); }
  return mean(JUST(mul(out[0], out[2]->Alias())));  // the lengths have no history
}

}  // namespace oneflow::functional::composites
