// The kernels softmax_loss and softmax_loss_backward: cross entropy with class indices, without a
// softmax in memory.
//
// With weights w of the classes, smoothing s, C classes and logp = x - max - log_sum, the loss of a
// sample with target t is -(1 - s) w[t] logp[t] - s / C sum(w logp).
// softmax_loss: x, target, [weight] -> loss, total_weight, max, log_sum.
// softmax_loss_backward: dy, x, target, [weight], total_weight, max, log_sum -> dx.
#include <algorithm>
#include <cstring>

#include "oneflow/kernels/attrs_norm.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/dense_kernel.h"
#include "oneflow/kernels/cpu/loss/class_targets.h"
#include "oneflow/kernels/cpu/softmax/softmax_extents.h"
#include "oneflow/kernels/cpu/softmax/softmax_loops.h"

namespace oneflow {
namespace cpu {

namespace {

template <typename T>
struct Weights {
  const T* data = nullptr;
  double total = 0.0;  // of all classes

  Weights(const KernelCall& call, int i, int64_t classes) : total(static_cast<double>(classes)) {
    if (!call.HasInput(i)) { return; }
    data = call.inputs[i].Data<T>();
    total = 0.0;
    for (int64_t c = 0; c < classes; ++c) { total += static_cast<double>(data[c]); }
  }
  double operator[](int64_t c) const {
    return data == nullptr ? 1.0 : static_cast<double>(data[c]);
  }
};

template <typename T>
class Forward {
 public:
  explicit Forward(const KernelCall& call)
      : call_(call),
        attrs_(call.GetAttrs<SoftmaxLossAttrs>()),
        e_(call.inputs[0], attrs_.class_dim),
        weights_(call, 2, e_.n),
        x_(call.inputs[0].Data<T>()),
        targets_(call.inputs[1].Data<int64_t>()),
        max_(call.outputs[2].Data<T>()),
        log_sum_(call.outputs[3].Data<T>()),
        terms_(static_cast<double*>(call.scratch)) {}

  void Run() const {
    const SoftmaxLoops<T>& loops = GetSoftmaxLoops<T>();
    if (e_.n > 0) {
      ForEachSoftmaxTile(e_, call_.threads, [&](int64_t at, int64_t columns) {
        const int64_t first = at / (e_.n * e_.inner) * e_.inner + at % e_.inner;
        if (e_.inner == 1) {
          loops.row_log_sum(x_ + at, e_.n, max_ + first, log_sum_ + first);
        } else {
          loops.columns_log_sum(x_ + at, e_.inner, e_.n, columns, max_ + first, log_sum_ + first);
        }
        for (int64_t j = 0; j < columns; ++j) { terms_[first + j] = Term(first + j, x_ + at + j); }
      });
    }
    Reduce();
  }

 private:
  // The loss of sample i, whose logits are at x[0], x[inner], ...
  double Term(int64_t i, const T* x) const {
    const int64_t t = targets_[i];
    if (t == attrs_.ignore_index) { return 0.0; }
    const double max = static_cast<double>(max_[i]);
    const double log_sum = static_cast<double>(log_sum_[i]);
    const double picked = (static_cast<double>(x[t * e_.inner]) - max) - log_sum;
    const double s = attrs_.label_smoothing;
    double term = -(1.0 - s) * weights_[t] * picked;
    if (s > 0.0) {
      double sum = 0.0;
      for (int64_t c = 0; c < e_.n; ++c) {
        sum += weights_[c] * (static_cast<double>(x[c * e_.inner]) - max);
      }
      term -= s / static_cast<double>(e_.n) * (sum - weights_.total * log_sum);
    }
    return term;
  }

  void Reduce() const {
    double loss = 0.0, total = 0.0;
    const int64_t samples = e_.outer * e_.inner;
    T* out = call_.outputs[0].Data<T>();
    for (int64_t i = 0; i < samples; ++i) {
      loss += terms_[i];
      if (targets_[i] != attrs_.ignore_index) { total += weights_[targets_[i]]; }
      if (attrs_.reduction == Reduction::kNone) { out[i] = static_cast<T>(terms_[i]); }
    }
    if (attrs_.reduction == Reduction::kMean) { loss /= total; }
    if (attrs_.reduction != Reduction::kNone) { *out = static_cast<T>(loss); }
    *call_.outputs[1].Data<T>() = static_cast<T>(total);
  }

  const KernelCall& call_;
  const SoftmaxLossAttrs& attrs_;
  const SoftmaxExtents e_;
  const Weights<T> weights_;
  const T* x_;
  const int64_t* targets_;
  T* max_;
  T* log_sum_;
  double* terms_;
};

template <typename T>
class Backward {
 public:
  explicit Backward(const KernelCall& call)
      : call_(call),
        attrs_(call.GetAttrs<SoftmaxLossAttrs>()),
        e_(call.inputs[1], attrs_.class_dim),
        weights_(call, 3, e_.n),
        targets_(call.inputs[2].Data<int64_t>()) {
    const double total = static_cast<double>(*call.inputs[4].Data<T>());
    divisor_ = attrs_.reduction == Reduction::kMean ? total : 1.0;
  }

  void Run() const {
    if (e_.total() == 0) { return; }
    const SoftmaxLoops<T>& loops = GetSoftmaxLoops<T>();
    const T* x = call_.inputs[1].Data<T>();
    const T* max = call_.inputs[5].Data<T>();
    const T* log_sum = call_.inputs[6].Data<T>();
    T* dx = call_.outputs[0].Data<T>();
    ForEachSoftmaxTile(e_, call_.threads, [&](int64_t at, int64_t columns) {
      const int64_t first = at / (e_.n * e_.inner) * e_.inner + at % e_.inner;
      T a[kSoftmaxTile], b[kSoftmaxTile], c[kSoftmaxTile];
      for (int64_t j = 0; j < columns; ++j) { Factors(first + j, a + j, b + j, c + j); }
      if (e_.inner == 1) {
        loops.row_loss_backward(x + at, dx + at, e_.n, max[first], log_sum[first], a[0], b[0],
                                weights_.data);
      } else {
        loops.columns_loss_backward(x + at, dx + at, e_.inner, e_.n, columns, max + first,
                                    log_sum + first, a, b, weights_.data);
      }
      for (int64_t j = 0; j < columns; ++j) {
        const int64_t t = targets_[first + j];
        if (t != attrs_.ignore_index) { dx[at + j + t * e_.inner] -= c[j]; }
      }
    });
  }

 private:
  // dx = a softmax(x) - b w - (c at the target) for sample i.
  void Factors(int64_t i, T* a, T* b, T* c) const {
    const int64_t t = targets_[i];
    *a = *b = *c = T{0};
    if (t == attrs_.ignore_index) { return; }
    const T* dy = call_.inputs[0].Data<T>();
    const double g =
        static_cast<double>(dy[attrs_.reduction == Reduction::kNone ? i : 0]) / divisor_;
    const double s = attrs_.label_smoothing;
    const double share = s / static_cast<double>(e_.n);
    *a = static_cast<T>(g * ((1.0 - s) * weights_[t] + share * weights_.total));
    *b = static_cast<T>(g * share);
    *c = static_cast<T>(g * (1.0 - s) * weights_[t]);
  }

  const KernelCall& call_;
  const SoftmaxLossAttrs& attrs_;
  const SoftmaxExtents e_;
  const Weights<T> weights_;
  const int64_t* targets_;
  double divisor_ = 1.0;
};

Maybe<void> RunForward(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<SoftmaxLossAttrs>();
  const ArrayView& x = call.inputs[0];
  JUST(CheckClassTargets("cross_entropy", call.inputs[1], x.shape[attrs.class_dim],
                         attrs.ignore_index));
  if (x.dtype == DataType::kDouble) {
    Forward<double>(call).Run();
  } else {
    Forward<float>(call).Run();
  }
  return Ok();
}

Maybe<void> RunBackward(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<SoftmaxLossAttrs>();
  const ArrayView& x = call.inputs[1];
  JUST(CheckClassTargets("cross_entropy", call.inputs[2], x.shape[attrs.class_dim],
                         attrs.ignore_index));
  if (x.dtype == DataType::kDouble) {
    Backward<double>(call).Run();
  } else {
    Backward<float>(call).Run();
  }
  return Ok();
}

size_t ForwardScratch(const KernelCall& call) {
  return static_cast<size_t>(std::max<int64_t>(1, call.inputs[1].Count())) * sizeof(double);
}

double ForwardCost(const KernelCall& call) {
  return 30.0 + 0.7 * static_cast<double>(call.inputs[0].Count()) + ElementwiseCostNs(call);
}
double BackwardCost(const KernelCall& call) {
  return 30.0 + 0.7 * static_cast<double>(call.outputs[0].Count()) + ElementwiseCostNs(call);
}

constexpr DenseKernel kForward = {&RunForward, &ForwardCost, &ForwardScratch};
constexpr DenseKernel kBackward = {&RunBackward, &BackwardCost};

}  // namespace

ONEFLOW_REGISTER_DENSE_KERNEL(softmax_loss, "softmax_loss.cpu.vector", kForward);
ONEFLOW_REGISTER_DENSE_KERNEL(softmax_loss_backward, "softmax_loss_backward.cpu.vector", kBackward);

}  // namespace cpu
}  // namespace oneflow
