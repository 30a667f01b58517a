// The kernel batch_norm_backward: dy, x, [weight], mean, variance -> dx, dweight, dbias.
//
// With d = x - mean, s = 1 / sqrt(variance + epsilon) and n elements in a channel:
// dx = w s (dy - sum(dy) / n - d s^2 sum(dy d) / n), or w s dy where mean and variance were given.
//
// "vector" and "bfloat16" as in batch_norm.cc.
#include <cmath>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs_norm.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/dense_kernel.h"
#include "oneflow/kernels/cpu/norm/channel_stats.h"
#include "oneflow/kernels/cpu/norm/channel_values.h"
#include "oneflow/kernels/cpu/norm/norm_loops.h"
#include "oneflow/kernels/cpu/norm/run_loops.h"

namespace oneflow {
namespace cpu {

namespace {

// With arrays of E: T, or BFloat16 with T = float.
template <typename T, typename E>
struct Gradients {
  const KernelCall& call;
  const BatchNormAttrs& attrs;
  ChannelExtents e;
  const E* dy;
  const E* x;
  ChannelValues weight, mean, variance;
  E* dx;

  explicit Gradients(const KernelCall& c)
      : call(c),
        attrs(c.GetAttrs<BatchNormAttrs>()),
        e(c.inputs[1], attrs.axis),
        dy(c.inputs[0].Data<E>()),
        x(c.inputs[1].Data<E>()),
        weight(c, 2, 1.0),
        mean(c, 3, 0.0),
        variance(c, 4, 1.0),
        dx(c.outputs[0].Data<E>()) {}

  // From the sums of a channel: its results, and the constants of dx.
  void Finish(int64_t c, double sum_dy, double sum_dyx, T* m, T* k, T* scale) const {
    const double inv_std = 1.0 / std::sqrt(variance[c] + attrs.epsilon);
    const double n = static_cast<double>(e.count());
    PutChannelValue(call.outputs[1], c, sum_dyx * inv_std);
    PutChannelValue(call.outputs[2], c, sum_dy);
    *m = attrs.training ? static_cast<T>(sum_dy / n) : T{0};
    *k = attrs.training ? static_cast<T>(sum_dyx * inv_std * inv_std / n) : T{0};
    *scale = static_cast<T>(inv_std * weight[c]);
  }

  void Channel(int64_t c) const {
    const RunLoopsOf<T, E>& loops = GetRunLoops<T, E>();
    const Runs runs = RunsOf(e);
    const int64_t at = c * e.inner;
    const T center = static_cast<T>(mean[c]);
    double sum_dy, sum_dyx;
    loops.sums(dy + at, x + at, runs, center, &sum_dy, &sum_dyx);
    T m, k, scale;
    Finish(c, sum_dy, sum_dyx, &m, &k, &scale);
    loops.backward(dy + at, x + at, dx + at, runs, center, m, k, scale);
  }

  void Channels() const {
    ParallelFor(call.threads, e.channels, 1, [&](int64_t c, int64_t) { Channel(c); });
  }

  // REQUIRES that E is T.
  void Neighbours() const {
    const T* means = call.inputs[3].Data<T>();
    auto* sums = static_cast<double*>(call.scratch);
    T* m = reinterpret_cast<T*>(sums + 2 * e.channels);
    T* k = m + e.channels;
    T* scale = k + e.channels;
    // Each channel has room for four numbers, the partial sums come behind.
    void* partial = sums + 6 * e.channels;
    NeighbourSums(dy, x, e, means, sums, sums + e.channels, partial, call.threads);
    for (int64_t c = 0; c < e.channels; ++c) {
      Finish(c, sums[c], sums[c + e.channels], m + c, k + c, scale + c);
    }
    const int64_t grain = std::max<int64_t>(1, 8192 / std::max<int64_t>(1, e.channels));
    ParallelFor(call.threads, e.outer, grain, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const int64_t at = r * e.channels;
        GetNormLoops<T>().across_backward(dy + at, x + at, dx + at, e.channels, means, m, k, scale);
      }
    });
  }
};

template <typename T>
Maybe<void> Backward(const KernelCall& call) {
  const Gradients<T, T> g(call);
  if (g.e.inner == 1) {
    g.Neighbours();
  } else {
    g.Channels();
  }
  return Ok();
}

Maybe<void> RunBFloat16(const KernelCall& call) {
  Gradients<float, BFloat16>(call).Channels();
  return Ok();
}

const char* AcceptBFloat16(const KernelCall& call) {
  return AcceptBFloat16Runs(call, 1, call.GetAttrs<BatchNormAttrs>().axis);
}

Maybe<void> Run(const KernelCall& call) {
  return call.inputs[0].dtype == DataType::kDouble ? Backward<double>(call) : Backward<float>(call);
}

size_t Scratch(const KernelCall& call) {
  const ChannelExtents e(call.inputs[1], call.GetAttrs<BatchNormAttrs>().axis);
  if (e.inner != 1) { return 0; }
  return static_cast<size_t>(6 * e.channels) * sizeof(double) + ChannelStatsScratch(e);
}

double Cost(const KernelCall& call) {
  return ElementwiseCostNs(call) + 0.2 * static_cast<double>(call.outputs[0].Count());
}

constexpr DenseKernel kBackward = {&Run, &Cost, &Scratch};

}  // namespace

ONEFLOW_REGISTER_KERNEL(batch_norm_backward_bfloat16,
                        {"batch_norm_backward.cpu.bfloat16", &RunBFloat16, &AcceptBFloat16, &Cost});
ONEFLOW_REGISTER_DENSE_KERNEL(batch_norm_backward, "batch_norm_backward.cpu.vector", kBackward);

}  // namespace cpu
}  // namespace oneflow
