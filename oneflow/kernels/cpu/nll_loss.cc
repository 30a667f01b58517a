// The kernels nll_loss and nll_loss_backward. Sums are taken in double, one target after the other.
//
// nll_loss: x, target, [weight] -> loss, total_weight.
// nll_loss_backward: dy, target, [weight], total_weight -> dx.
#include <algorithm>
#include <cstring>
#include <utility>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/nll_targets.h"
#include "oneflow/kernels/cpu/strided_loop.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

// Class weights, or 1 for every class.
template <typename T>
class Weights {
 public:
  explicit Weights(const KernelCall& call) {
    if (call.HasInput(2)) {
      data_ = call.inputs[2].Data<T>();
      stride_ = call.inputs[2].strides[0];
    }
  }
  double operator[](int64_t t) const {
    return data_ == nullptr ? 1.0 : static_cast<double>(data_[t * stride_]);
  }

 private:
  const T* data_ = nullptr;
  int64_t stride_ = 0;
};

const char* AcceptWith(const KernelCall& call, DataType dtype) {
  if (dtype != DataType::kFloat && dtype != DataType::kDouble) { return "dtype not supported"; }
  if (call.inputs[1].dtype != DataType::kInt64) { return "target is not int64"; }
  if (call.HasInput(2) && call.inputs[2].dtype != dtype) { return "weight of another dtype"; }
  return call.outputs[0].contiguous ? nullptr : "output is not dense";
}

const char* AcceptForward(const KernelCall& call) { return AcceptWith(call, call.inputs[0].dtype); }
const char* AcceptBackward(const KernelCall& call) {
  return AcceptWith(call, call.outputs[0].dtype);
}

template <typename T>
void Forward(const KernelCall& call, const NllTargets& targets) {
  const auto& attrs = call.GetAttrs<NllLossAttrs>();
  const T* x = call.inputs[0].Data<T>();
  const Weights<T> weights(call);
  // Not told from the pointer: that of an empty output is null too.
  const bool keep_each = attrs.reduction == Reduction::kNone;
  T* each = call.outputs[0].Data<T>();
  double loss = 0.0;
  double total_weight = 0.0;
  targets.ForEach(attrs.ignore_index, [&](int64_t i, int64_t t, int64_t offset) {
    const bool ignored = t == attrs.ignore_index;
    const double weight = ignored ? 0.0 : weights[t];
    const double term = ignored ? 0.0 : -weight * static_cast<double>(x[offset]);
    if (keep_each) { each[i] = static_cast<T>(term); }
    loss += term;
    total_weight += weight;
  });
  if (!keep_each) {
    const bool mean = attrs.reduction == Reduction::kMean;
    *each = static_cast<T>(mean ? loss / total_weight : loss);
  }
  *call.outputs[1].Data<T>() = static_cast<T>(total_weight);
}

template <typename T>
void Backward(const KernelCall& call, const NllTargets& targets) {
  const auto& attrs = call.GetAttrs<NllLossAttrs>();
  const ArrayView& dy = call.inputs[0];
  const ArrayView& dx = call.outputs[0];
  const Weights<T> weights(call);
  const double total_weight = static_cast<double>(*call.inputs[3].Data<T>());
  const double divisor = attrs.reduction == Reduction::kMean ? total_weight : 1.0;
  ParallelFor(call.threads, dx.Count(), StridedLoop::kGrain, [&](int64_t begin, int64_t end) {
    std::memset(dx.Data<T>() + begin, 0, static_cast<size_t>(end - begin) * sizeof(T));
  });
  const bool each = attrs.reduction == Reduction::kNone;
  // dy has the targets' shape then; its offset is found from the number of the target.
  const Dims shape(dy.shape, dy.ndim);
  targets.ForEach(attrs.ignore_index, [&](int64_t i, int64_t t, int64_t offset) {
    if (t == attrs.ignore_index) { return; }
    int64_t at = 0;
    if (each) {
      for (int d = dy.ndim - 1; d >= 0; --d) {
        at += i % shape[d] * dy.strides[d];
        i /= shape[d];
      }
    }
    const double gradient = static_cast<double>(dy.Data<T>()[at]);
    dx.Data<T>()[offset] = static_cast<T>(-weights[t] * gradient / divisor);
  });
}

Maybe<void> RunForward(const KernelCall& call) {
  const NllTargets targets(call.inputs[0], call.inputs[1]);
  const auto& attrs = call.GetAttrs<NllLossAttrs>();
  JUST(targets.Check("nll_loss", attrs.ignore_index));
  if (call.inputs[0].dtype == DataType::kFloat) {
    Forward<float>(call, targets);
  } else {
    Forward<double>(call, targets);
  }
  return Ok();
}

Maybe<void> RunBackward(const KernelCall& call) {
  const NllTargets targets(call.outputs[0], call.inputs[1]);
  JUST(targets.Check("nll_loss_backward", call.GetAttrs<NllLossAttrs>().ignore_index));
  if (call.outputs[0].dtype == DataType::kFloat) {
    Backward<float>(call, targets);
  } else {
    Backward<double>(call, targets);
  }
  return Ok();
}

// One random access for each target.
double ForwardCost(const KernelCall& call) {
  return 20.0 + 6.0 * static_cast<double>(call.inputs[1].Count());
}
double BackwardCost(const KernelCall& call) {
  return ForwardCost(call) + MemoryCostNs(BytesOf(call.outputs[0]));
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(nll_loss,
                        {"nll_loss.cpu.vector", &RunForward, &AcceptForward, &ForwardCost});
ONEFLOW_REGISTER_KERNEL(nll_loss_backward, {"nll_loss_backward.cpu.vector", &RunBackward,
                                            &AcceptBackward, &BackwardCost});

}  // namespace cpu
}  // namespace oneflow
