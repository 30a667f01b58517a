// Reference kernels of the losses: pointwise_loss, softmax_loss and their backward.
#include <algorithm>
#include <cmath>

#include "oneflow/kernels/attrs_norm.h"
#include "oneflow/kernels/cpu/reference_arrays.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {
namespace reference {

namespace {

size_t At(int64_t i) { return static_cast<size_t>(i); }

Reals Input(const KernelCall& call, int i) {
  return call.HasInput(i) ? RealsOf(call.inputs[i]) : Reals();
}

// ---- losses between elements --------------------------------------------------------------------

double Sign(double x) { return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x; }
double Sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
// ln(1 + exp(-x))
double Softplus(double x) { return std::max(-x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
double BoundedLog(double x) { return std::max(std::log(x), -100.0); }

// `p` is the weight of positive answers.
double ValueOf(LossKind kind, double x, double t, double p, double beta) {
  const double d = std::abs(x - t);
  switch (kind) {
    case LossKind::kSquare: return d * d;
    case LossKind::kAbsolute: return d;
    case LossKind::kSmooth: return d < beta ? d * d / (2.0 * beta) : d - beta / 2.0;
    case LossKind::kHuber: return d < beta ? d * d / 2.0 : beta * (d - beta / 2.0);
    case LossKind::kBinary: return -(t * BoundedLog(x) + (1.0 - t) * BoundedLog(1.0 - x));
    case LossKind::kLogits: return p * t * Softplus(x) + (1.0 - t) * Softplus(-x);
    case LossKind::kDivergence: return t > 0.0 ? t * (std::log(t) - x) : 0.0;
    case LossKind::kLogDivergence: break;
  }
  return std::exp(t) * (t - x);
}

double ByX(LossKind kind, double x, double t, double p, double beta) {
  const double d = x - t;
  switch (kind) {
    case LossKind::kSquare: return 2.0 * d;
    case LossKind::kAbsolute: return Sign(d);
    case LossKind::kSmooth: return std::abs(d) < beta ? d / beta : Sign(d);
    case LossKind::kHuber: return std::abs(d) < beta ? d : beta * Sign(d);
    case LossKind::kBinary: return d / std::max((1.0 - x) * x, 1e-12);
    case LossKind::kLogits: return (1.0 - t) * Sigmoid(x) - p * t * Sigmoid(-x);
    case LossKind::kDivergence: return t > 0.0 ? -t : 0.0;
    case LossKind::kLogDivergence: break;
  }
  return -std::exp(t);
}

double ByTarget(LossKind kind, double x, double t, double p, double beta) {
  switch (kind) {
    case LossKind::kBinary: return BoundedLog(1.0 - x) - BoundedLog(x);
    case LossKind::kLogits: return p * Softplus(x) - Softplus(-x);
    case LossKind::kDivergence: return t > 0.0 ? std::log(t) + 1.0 - x : 0.0;
    case LossKind::kLogDivergence: return std::exp(t) * (t - x + 1.0);
    default: return -ByX(kind, x, t, p, beta);  // a function of x - t
  }
}

Maybe<void> RunPointwise(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<PointwiseLossAttrs>();
  const auto kind = static_cast<LossKind>(attrs.kind);
  const Reals x = Input(call, 0), t = Input(call, 1);
  const Reals weight = Input(call, 2), positives = Input(call, 3);
  Reals losses;
  double sum = 0.0;
  for (size_t i = 0; i < x.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const double p = OrElse(positives, at, 1.0);
    losses.push_back(OrElse(weight, at, 1.0) * ValueOf(kind, x[i], t[i], p, attrs.beta));
    sum += losses.back();
  }
  switch (attrs.reduction) {
    case Reduction::kNone: Put(call.outputs[0], losses); break;
    case Reduction::kSum: Put(call.outputs[0], {sum}); break;
    case Reduction::kMean: Put(call.outputs[0], {sum / static_cast<double>(x.size())}); break;
  }
  return Ok();
}

Maybe<void> RunPointwiseBackward(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<PointwiseLossBackwardAttrs>();
  const auto kind = static_cast<LossKind>(attrs.loss.kind);
  const Reals dy = Input(call, 0), x = Input(call, 1), t = Input(call, 2);
  const Reals weight = Input(call, 3), positives = Input(call, 4);
  const auto derivative = attrs.by_target ? &ByTarget : &ByX;
  const bool each = attrs.loss.reduction == Reduction::kNone;
  const double divisor =
      attrs.loss.reduction == Reduction::kMean ? static_cast<double>(x.size()) : 1.0;
  Reals dx;
  for (size_t i = 0; i < x.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const double d = derivative(kind, x[i], t[i], OrElse(positives, at, 1.0), attrs.loss.beta);
    dx.push_back(dy[each ? i : 0] / divisor * OrElse(weight, at, 1.0) * d);
  }
  Put(call.outputs[0], dx);
  return Ok();
}

// ---- cross entropy with class indices -----------------------------------------------------------

// Logits (outer, classes, inner): sample i is number (i / inner, i % inner).
struct Samples {
  int64_t outer, classes, inner;

  Samples(const ArrayView& x, int64_t dim)
      : outer(SizeOfDims(x, 0, dim)),
        classes(x.shape[dim]),
        inner(SizeOfDims(x, dim + 1, x.ndim)) {}
  int64_t count() const { return outer * inner; }
  size_t Logit(int64_t i, int64_t c) const {
    return At((i / inner * classes + c) * inner + i % inner);
  }
};

Maybe<void> CheckTargets(const Wholes& targets, int64_t classes, int64_t ignore_index) {
  for (size_t i = 0; i < targets.size(); ++i) {
    if (targets[i] != ignore_index && (targets[i] < 0 || targets[i] >= classes)) {
      return IndexError("[cross_entropy] expects target in [0, {}), got {} at element {}", classes,
                        targets[i], i);
    }
  }
  return Ok();
}

struct ClassProblem {
  const SoftmaxLossAttrs& attrs;
  Samples s;
  Reals x;
  Wholes targets;
  Reals weight, max, log_sum;

  ClassProblem(const KernelCall& call, int first)
      : attrs(call.GetAttrs<SoftmaxLossAttrs>()),
        s(call.inputs[first], attrs.class_dim),
        x(Input(call, first)),
        targets(WholesOf(call.inputs[first + 1])),
        weight(Input(call, first + 2)) {
    for (int64_t i = 0; i < s.count(); ++i) {
      if (Ignored(i)) {
        max.push_back(0.0);
        log_sum.push_back(0.0);
        continue;
      }
      max.push_back(x[s.Logit(i, 0)]);
      for (int64_t c = 1; c < s.classes; ++c) {
        max.back() = std::max(max.back(), x[s.Logit(i, c)]);
      }
      double sum = 0.0;
      for (int64_t c = 0; c < s.classes; ++c) { sum += std::exp(x[s.Logit(i, c)] - max.back()); }
      log_sum.push_back(std::log(sum));
    }
  }

  double Weight(int64_t c) const { return OrElse(weight, c, 1.0); }
  bool Ignored(int64_t i) const { return targets[At(i)] == attrs.ignore_index; }
  double LogProb(int64_t i, int64_t c) const {
    return x[s.Logit(i, c)] - max[At(i)] - log_sum[At(i)];
  }
  // How much of the loss is asked of class c in sample i, its weight included.
  double Share(int64_t i, int64_t c) const {
    const double smooth = attrs.label_smoothing / static_cast<double>(s.classes);
    const double hit = c == targets[At(i)] ? 1.0 - attrs.label_smoothing : 0.0;
    return (hit + smooth) * Weight(c);
  }
  double Total() const {
    double total = 0.0;
    for (int64_t i = 0; i < s.count(); ++i) {
      if (!Ignored(i)) { total += Weight(targets[At(i)]); }
    }
    return total;
  }
};

Maybe<void> RunSoftmaxLoss(const KernelCall& call) {
  const ClassProblem p(call, 0);
  JUST(CheckTargets(p.targets, p.s.classes, p.attrs.ignore_index));
  Reals losses;
  double sum = 0.0;
  for (int64_t i = 0; i < p.s.count(); ++i) {
    double loss = 0.0;
    for (int64_t c = 0; c < p.s.classes && !p.Ignored(i); ++c) {
      const double share = p.Share(i, c);
      if (share != 0.0) { loss -= share * p.LogProb(i, c); }
    }
    losses.push_back(loss);
    sum += loss;
  }
  switch (p.attrs.reduction) {
    case Reduction::kNone: Put(call.outputs[0], losses); break;
    case Reduction::kSum: Put(call.outputs[0], {sum}); break;
    case Reduction::kMean: Put(call.outputs[0], {sum / p.Total()}); break;
  }
  Put(call.outputs[1], {p.Total()});
  Put(call.outputs[2], p.max);
  Put(call.outputs[3], p.log_sum);
  return Ok();
}

// dy, x, target, [weight], total_weight, ... -> dx: the maxima and sums are computed again.
Maybe<void> RunSoftmaxLossBackward(const KernelCall& call) {
  const ClassProblem p(call, 1);
  JUST(CheckTargets(p.targets, p.s.classes, p.attrs.ignore_index));
  const Reals dy = Input(call, 0);
  const bool each = p.attrs.reduction == Reduction::kNone;
  const double divisor = p.attrs.reduction == Reduction::kMean ? Input(call, 4)[0] : 1.0;
  Reals dx(p.x.size(), 0.0);
  for (int64_t i = 0; i < p.s.count(); ++i) {
    if (p.Ignored(i)) { continue; }
    const double g = dy[each ? At(i) : 0] / divisor;
    double asked = 0.0;
    for (int64_t c = 0; c < p.s.classes; ++c) { asked += p.Share(i, c); }
    for (int64_t c = 0; c < p.s.classes; ++c) {
      dx[p.s.Logit(i, c)] = g * (asked * std::exp(p.LogProb(i, c)) - p.Share(i, c));
    }
  }
  Put(call.outputs[0], dx);
  return Ok();
}

double Cost(const KernelCall& call) { return 200.0 * static_cast<double>(call.inputs[0].Count()); }

}  // namespace

ONEFLOW_REGISTER_KERNEL(pointwise_loss,
                        {"pointwise_loss.cpu.reference", &RunPointwise, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(pointwise_loss_backward, {"pointwise_loss_backward.cpu.reference",
                                                  &RunPointwiseBackward, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(softmax_loss,
                        {"softmax_loss.cpu.reference", &RunSoftmaxLoss, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(softmax_loss_backward, {"softmax_loss_backward.cpu.reference",
                                                &RunSoftmaxLossBackward, nullptr, &Cost});

}  // namespace reference
}  // namespace cpu
}  // namespace oneflow
