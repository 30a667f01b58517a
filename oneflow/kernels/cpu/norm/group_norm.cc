// The kernels group_norm and group_norm_backward. Instance norm has a group for each channel.
//
// group_norm: x, [weight], [bias] -> y, mean, inv_std, both (samples, groups).
// group_norm_backward: dy, x, [weight], mean, inv_std -> dx, dweight, dbias (per channel).
#include <cmath>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs_norm.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/dense_kernel.h"
#include "oneflow/kernels/cpu/norm/channel_extents.h"
#include "oneflow/kernels/cpu/norm/norm_loops.h"

namespace oneflow {
namespace cpu {

namespace {

struct Groups {
  ChannelExtents e;
  int64_t groups;

  Groups(const ArrayView& x, int64_t n) : e(x, 1), groups(n) {}
  int64_t channels() const { return e.channels / groups; }  // of one group
  int64_t count() const { return channels() * e.inner; }
  int64_t total() const { return e.outer * groups; }
};

template <typename T>
const T* OptionalData(const KernelCall& call, int i) {
  return call.HasInput(i) ? call.inputs[i].Data<T>() : nullptr;
}

template <typename T>
Maybe<void> Forward(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<GroupNormAttrs>();
  const Groups g(call.inputs[0], attrs.groups);
  const NormLoops<T>& loops = GetNormLoops<T>();
  const T* weight = OptionalData<T>(call, 1);
  const T* bias = OptionalData<T>(call, 2);
  const double count = static_cast<double>(g.count());
  ParallelFor(call.threads, g.total(), 1, [&](int64_t i, int64_t) {
    const T* x = call.inputs[0].Data<T>() + i * g.count();
    T* y = call.outputs[0].Data<T>() + i * g.count();
    const T mean = static_cast<T>(loops.sum(x, g.count()) / count);
    const double variance = loops.sum_squares(x, g.count(), mean) / count;
    const double inv_std = 1.0 / std::sqrt(variance + attrs.epsilon);
    call.outputs[1].Data<T>()[i] = mean;
    call.outputs[2].Data<T>()[i] = static_cast<T>(inv_std);
    for (int64_t k = 0; k < g.channels(); ++k) {
      const int64_t c = i % g.groups * g.channels() + k;
      const double scale = weight == nullptr ? inv_std : inv_std * static_cast<double>(weight[c]);
      loops.run(x + k * g.e.inner, y + k * g.e.inner, g.e.inner, mean, static_cast<T>(scale),
                bias == nullptr ? T{0} : bias[c]);
    }
  });
  return Ok();
}

// In scratch: for each sample and channel the sums of dy, and of dy * (x - mean).
template <typename T>
struct Gradients {
  const KernelCall& call;
  Groups g;
  const T* dy;
  const T* x;
  const T* weight;
  const T* mean;
  const T* inv_std;
  T* dx;
  double* sums;

  explicit Gradients(const KernelCall& c)
      : call(c),
        g(c.inputs[1], c.GetAttrs<GroupNormAttrs>().groups),
        dy(c.inputs[0].Data<T>()),
        x(c.inputs[1].Data<T>()),
        weight(OptionalData<T>(c, 2)),
        mean(c.inputs[3].Data<T>()),
        inv_std(c.inputs[4].Data<T>()),
        dx(c.outputs[0].Data<T>()),
        sums(static_cast<double*>(c.scratch)) {}

  double Weight(int64_t c) const {
    return weight == nullptr ? 1.0 : static_cast<double>(weight[c]);
  }

  // Group i: its sums, and dx.
  void Group(int64_t i) const {
    const NormLoops<T>& loops = GetNormLoops<T>();
    const int64_t inner = g.e.inner;
    const int64_t first_channel = i % g.groups * g.channels();
    const int64_t row = i * g.channels();  // the first channel of the group, over all samples
    double sum_dy = 0.0, sum_dyx = 0.0;
    for (int64_t k = 0; k < g.channels(); ++k) {
      double* at = sums + 2 * (row + k);
      const int64_t offset = (row + k) * inner;
      loops.run_sums(dy + offset, x + offset, inner, mean[i], at, at + 1);
      sum_dy += Weight(first_channel + k) * at[0];
      sum_dyx += Weight(first_channel + k) * at[1];
    }
    // dx = (dy w - m - (x - mean) k) s = (dy - m / w - (x - mean) k / w) w s, without division:
    // the scaled gradient is written first.
    const double s = static_cast<double>(inv_std[i]);
    const double count = static_cast<double>(g.count());
    const double m = sum_dy / count;
    const double slope = sum_dyx * s * s / count;
    for (int64_t k = 0; k < g.channels(); ++k) {
      const int64_t offset = (row + k) * inner;
      loops.run(dy + offset, dx + offset, inner, T{0}, static_cast<T>(Weight(first_channel + k)),
                T{0});
      loops.run_backward(dx + offset, x + offset, dx + offset, inner, mean[i], static_cast<T>(m),
                         static_cast<T>(slope), inv_std[i]);
    }
  }

  // dweight and dbias of channel c.
  void Channel(int64_t c) const {
    double dweight = 0.0, dbias = 0.0;
    for (int64_t o = 0; o < g.e.outer; ++o) {
      const double* at = sums + 2 * (o * g.e.channels + c);
      dbias += at[0];
      dweight += at[1] * static_cast<double>(inv_std[o * g.groups + c / g.channels()]);
    }
    call.outputs[1].Data<T>()[c] = static_cast<T>(dweight);
    call.outputs[2].Data<T>()[c] = static_cast<T>(dbias);
  }
};

template <typename T>
Maybe<void> Backward(const KernelCall& call) {
  const Gradients<T> gradients(call);
  ParallelFor(call.threads, gradients.g.total(), 1,
              [&](int64_t i, int64_t) { gradients.Group(i); });
  for (int64_t c = 0; c < gradients.g.e.channels; ++c) { gradients.Channel(c); }
  return Ok();
}

Maybe<void> RunForward(const KernelCall& call) {
  return call.inputs[0].dtype == DataType::kDouble ? Forward<double>(call) : Forward<float>(call);
}
Maybe<void> RunBackward(const KernelCall& call) {
  return call.inputs[0].dtype == DataType::kDouble ? Backward<double>(call) : Backward<float>(call);
}

size_t BackwardScratch(const KernelCall& call) {
  const Groups g(call.inputs[1], call.GetAttrs<GroupNormAttrs>().groups);
  return static_cast<size_t>(2 * g.e.outer * g.e.channels) * sizeof(double);
}

double ForwardCost(const KernelCall& call) {
  return ElementwiseCostNs(call) + 0.2 * static_cast<double>(call.outputs[0].Count());
}
double BackwardCost(const KernelCall& call) {
  return ElementwiseCostNs(call) + 0.3 * static_cast<double>(call.outputs[0].Count());
}

constexpr DenseKernel kForward = {&RunForward, &ForwardCost};
constexpr DenseKernel kBackward = {&RunBackward, &BackwardCost, &BackwardScratch};

}  // namespace

ONEFLOW_REGISTER_DENSE_KERNEL(group_norm, "group_norm.cpu.vector", kForward);
ONEFLOW_REGISTER_DENSE_KERNEL(group_norm_backward, "group_norm_backward.cpu.vector", kBackward);

}  // namespace cpu
}  // namespace oneflow
