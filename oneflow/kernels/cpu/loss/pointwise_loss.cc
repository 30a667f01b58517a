// The kernels pointwise_loss and pointwise_loss_backward: losses between elements, fused with their
// reduction.
//
// pointwise_loss: x, t, [weight], [weight of positives] -> loss.
// pointwise_loss_backward: dy, x, t, [weight], [weight of positives] -> dx (by x, or by t).
#include <algorithm>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs_norm.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/dense_kernel.h"
#include "oneflow/kernels/cpu/loss/loss_loops.h"

namespace oneflow {
namespace cpu {

namespace {

constexpr int64_t kGrain = 8192;

template <typename T>
LossOperands<T> Operands(const KernelCall& call, int first, double beta, int64_t at) {
  const auto optional = [&](int i) {
    return call.HasInput(i) ? call.inputs[i].Data<T>() + at : nullptr;
  };
  return {call.inputs[first].Data<T>() + at, call.inputs[first + 1].Data<T>() + at,
          optional(first + 2), optional(first + 3), static_cast<T>(beta)};
}

template <typename T>
void Forward(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<PointwiseLossAttrs>();
  const LossLoops<T>& loops = GetLossLoops<T>(attrs.kind);
  const int64_t n = call.inputs[0].Count();
  T* out = call.outputs[0].Data<T>();
  auto* parts = static_cast<double*>(call.scratch);
  ParallelFor(call.threads, n, kGrain, [&](int64_t begin, int64_t end) {
    const LossOperands<T> a = Operands<T>(call, 0, attrs.beta, begin);
    if (attrs.reduction == Reduction::kNone) { return loops.each(a, out + begin, end - begin); }
    parts[begin / kGrain] = loops.sum(a, end - begin);
  });
  if (attrs.reduction == Reduction::kNone) { return; }
  double sum = 0.0;
  for (int64_t i = 0; i * kGrain < n; ++i) { sum += parts[i]; }
  *out = static_cast<T>(attrs.reduction == Reduction::kMean ? sum / static_cast<double>(n) : sum);
}

template <typename T>
void Backward(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<PointwiseLossBackwardAttrs>();
  const LossLoops<T>& loops = GetLossLoops<T>(attrs.loss.kind);
  const auto fn = attrs.by_target ? loops.backward_t : loops.backward_x;
  const int64_t n = call.outputs[0].Count();
  const bool each = attrs.loss.reduction == Reduction::kNone;
  const T* dy = call.inputs[0].Data<T>();
  double scale = each ? 1.0 : static_cast<double>(*dy);
  if (attrs.loss.reduction == Reduction::kMean) { scale /= static_cast<double>(n); }
  ParallelFor(call.threads, n, kGrain, [&](int64_t begin, int64_t end) {
    fn(Operands<T>(call, 1, attrs.loss.beta, begin), each ? dy + begin : nullptr,
       static_cast<T>(scale), call.outputs[0].Data<T>() + begin, end - begin);
  });
}

Maybe<void> RunForward(const KernelCall& call) {
  if (call.inputs[0].dtype == DataType::kDouble) {
    Forward<double>(call);
  } else {
    Forward<float>(call);
  }
  return Ok();
}
Maybe<void> RunBackward(const KernelCall& call) {
  if (call.inputs[0].dtype == DataType::kDouble) {
    Backward<double>(call);
  } else {
    Backward<float>(call);
  }
  return Ok();
}

size_t ForwardScratch(const KernelCall& call) {
  if (call.GetAttrs<PointwiseLossAttrs>().reduction == Reduction::kNone) { return 0; }
  return static_cast<size_t>(call.inputs[0].Count() / kGrain + 1) * sizeof(double);
}

// Nanoseconds for each element, beside the memory: an exponential and a logarithm cost about one.
double PerElement(int64_t kind) {
  return kind >= static_cast<int64_t>(LossKind::kBinary) ? 1.0 : 0.05;
}
double ForwardCost(const KernelCall& call) {
  const double per_element = PerElement(call.GetAttrs<PointwiseLossAttrs>().kind);
  return ElementwiseCostNs(call) + per_element * static_cast<double>(call.inputs[0].Count());
}
double BackwardCost(const KernelCall& call) {
  const double per_element = PerElement(call.GetAttrs<PointwiseLossBackwardAttrs>().loss.kind);
  return ElementwiseCostNs(call) + per_element * static_cast<double>(call.outputs[0].Count());
}

constexpr DenseKernel kForward = {&RunForward, &ForwardCost, &ForwardScratch};
constexpr DenseKernel kBackward = {&RunBackward, &BackwardCost};

}  // namespace

ONEFLOW_REGISTER_DENSE_KERNEL(pointwise_loss, "pointwise_loss.cpu.vector", kForward);
ONEFLOW_REGISTER_DENSE_KERNEL(pointwise_loss_backward, "pointwise_loss_backward.cpu.vector",
                              kBackward);

}  // namespace cpu
}  // namespace oneflow
