// The kernels of batch normalisation, forward.
//
// batch_norm: x, [weight], [bias] -> y, mean, variance (biased).
// batch_norm_inference: x, mean, variance, [weight], [bias] -> y.
// batch_norm_moments: x -> mean, variance.
// batch_norm_update_stats: running mean, running variance, mean, variance, in place.
#include <cmath>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs_norm.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/dense_kernel.h"
#include "oneflow/kernels/cpu/norm/channel_stats.h"
#include "oneflow/kernels/cpu/norm/norm_loops.h"
#include "oneflow/kernels/cpu/norm/run_loops.h"

namespace oneflow {
namespace cpu {

namespace {

template <typename T>
struct Affine {
  const T* weight = nullptr;
  const T* bias = nullptr;
  double epsilon = 0.0;

  Affine(const KernelCall& call, int at) : epsilon(call.GetAttrs<BatchNormAttrs>().epsilon) {
    if (call.HasInput(at)) { weight = call.inputs[at].Data<T>(); }
    if (call.HasInput(at + 1)) { bias = call.inputs[at + 1].Data<T>(); }
  }
  T scale(int64_t c, T variance) const {
    const double inv_std = 1.0 / std::sqrt(static_cast<double>(variance) + epsilon);
    return static_cast<T>(inv_std * (weight == nullptr ? 1.0 : static_cast<double>(weight[c])));
  }
  T shift(int64_t c) const { return bias == nullptr ? T{0} : bias[c]; }
  void Fill(int64_t channels, const T* variance, T* scales, T* shifts) const {
    for (int64_t c = 0; c < channels; ++c) {
      scales[c] = scale(c, variance[c]);
      shifts[c] = shift(c);
    }
  }
};

// y of channels that are runs: those of one channel.
template <typename T>
void NormalizeRuns(const T* x, T* y, const ChannelExtents& e, int64_t c, T mean, T variance,
                   const Affine<T>& affine) {
  const int64_t at = c * e.inner;
  GetRunLoops<T>().normalize(x + at, y + at, RunsOf(e), mean, affine.scale(c, variance),
                             affine.shift(c));
}

// y of channels that are neighbours. `scratch` holds two numbers for each channel.
template <typename T>
void NormalizeNeighbours(const T* x, T* y, const ChannelExtents& e, const T* mean,
                         const T* variance, const Affine<T>& affine, void* scratch, int threads) {
  T* scale = static_cast<T*>(scratch);
  T* shift = scale + e.channels;
  affine.Fill(e.channels, variance, scale, shift);
  const int64_t grain = std::max<int64_t>(1, 8192 / std::max<int64_t>(1, e.channels));
  ParallelFor(threads, e.outer, grain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const int64_t at = r * e.channels;
      GetNormLoops<T>().across(x + at, y + at, e.channels, mean, scale, shift);
    }
  });
}

template <typename T>
Maybe<void> Train(const KernelCall& call) {
  const ChannelExtents e(call.inputs[0], call.GetAttrs<BatchNormAttrs>().axis);
  const Affine<T> affine(call, 1);
  const T* x = call.inputs[0].Data<T>();
  T* y = call.outputs[0].Data<T>();
  T* mean = call.outputs[1].Data<T>();
  T* variance = call.outputs[2].Data<T>();
  if (e.inner == 1) {
    ChannelMoments(x, e, mean, variance, call.scratch, call.threads);
    NormalizeNeighbours(x, y, e, mean, variance, affine, call.scratch, call.threads);
    return Ok();
  }
  // A channel is normalised while it is still in the cache.
  ParallelFor(call.threads, e.channels, 1, [&](int64_t c, int64_t) {
    RunMoments(x, e, c, mean + c, variance + c);
    NormalizeRuns(x, y, e, c, mean[c], variance[c], affine);
  });
  return Ok();
}

template <typename T>
Maybe<void> Infer(const KernelCall& call) {
  const ChannelExtents e(call.inputs[0], call.GetAttrs<BatchNormAttrs>().axis);
  const Affine<T> affine(call, 3);
  const T* x = call.inputs[0].Data<T>();
  T* y = call.outputs[0].Data<T>();
  const T* mean = call.inputs[1].Data<T>();
  const T* variance = call.inputs[2].Data<T>();
  if (e.inner == 1) {
    NormalizeNeighbours(x, y, e, mean, variance, affine, call.scratch, call.threads);
    return Ok();
  }
  T* scale = static_cast<T*>(call.scratch);
  T* shift = scale + e.channels;
  affine.Fill(e.channels, variance, scale, shift);
  const int64_t grain = std::max<int64_t>(1, 8192 / e.inner);
  ParallelFor(call.threads, e.outer * e.channels, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t c = i % e.channels;
      GetRunLoops<T>().normalize(x + i * e.inner, y + i * e.inner, {1, 0, e.inner}, mean[c],
                                 scale[c], shift[c]);
    }
  });
  return Ok();
}

template <typename T>
Maybe<void> Moments(const KernelCall& call) {
  const ChannelExtents e(call.inputs[0], call.GetAttrs<BatchNormAttrs>().axis);
  ChannelMoments(call.inputs[0].Data<T>(), e, call.outputs[0].Data<T>(), call.outputs[1].Data<T>(),
                 call.scratch, call.threads);
  return Ok();
}

// Targets are outputs 0 and 1; inputs 0 and 1 are their old values, perhaps the same arrays.
template <typename T>
Maybe<void> UpdateStats(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<UpdateStatsAttrs>();
  for (int i = 0; i < 2; ++i) {
    const T* old = call.inputs[i].Data<T>();
    const T* batch = call.inputs[i + 2].Data<T>();
    T* to = call.outputs[i].Data<T>();
    const double correction = i == 1 ? attrs.correction : 1.0;
    for (int64_t c = 0; c < call.inputs[i].shape[0]; ++c) {
      to[c] = static_cast<T>((1.0 - attrs.momentum) * static_cast<double>(old[c]) +
                             attrs.momentum * correction * static_cast<double>(batch[c]));
    }
  }
  return Ok();
}

bool IsDouble(const KernelCall& call) { return call.inputs[0].dtype == DataType::kDouble; }

Maybe<void> RunTrain(const KernelCall& call) {
  return IsDouble(call) ? Train<double>(call) : Train<float>(call);
}
Maybe<void> RunInference(const KernelCall& call) {
  return IsDouble(call) ? Infer<double>(call) : Infer<float>(call);
}
Maybe<void> RunMomentsOnly(const KernelCall& call) {
  return IsDouble(call) ? Moments<double>(call) : Moments<float>(call);
}
Maybe<void> RunUpdateStats(const KernelCall& call) {
  return IsDouble(call) ? UpdateStats<double>(call) : UpdateStats<float>(call);
}

size_t TrainScratch(const KernelCall& call) {
  return ChannelStatsScratch(ChannelExtents(call.inputs[0], call.GetAttrs<BatchNormAttrs>().axis));
}
size_t InferenceScratch(const KernelCall& call) {
  const ChannelExtents e(call.inputs[0], call.GetAttrs<BatchNormAttrs>().axis);
  return static_cast<size_t>(2 * e.channels) * SizeOf(call.outputs[0].dtype);
}

double TrainCost(const KernelCall& call) {
  return ElementwiseCostNs(call) + 0.2 * static_cast<double>(call.outputs[0].Count());
}
double MomentsCost(const KernelCall& call) {
  return ElementwiseCostNs(call) + 0.1 * static_cast<double>(call.inputs[0].Count());
}

constexpr DenseKernel kTrain = {&RunTrain, &TrainCost, &TrainScratch};
constexpr DenseKernel kInference = {&RunInference, &ElementwiseCostNs, &InferenceScratch};
constexpr DenseKernel kMoments = {&RunMomentsOnly, &MomentsCost, &TrainScratch};
constexpr DenseKernel kUpdate = {&RunUpdateStats, &ElementwiseCostNs};

}  // namespace

ONEFLOW_REGISTER_DENSE_KERNEL(batch_norm, "batch_norm.cpu.vector", kTrain);
ONEFLOW_REGISTER_DENSE_KERNEL(batch_norm_inference, "batch_norm_inference.cpu.vector", kInference);
ONEFLOW_REGISTER_DENSE_KERNEL(batch_norm_moments, "batch_norm_moments.cpu.vector", kMoments);
ONEFLOW_REGISTER_DENSE_KERNEL(batch_norm_update_stats, "batch_norm_update_stats.cpu.vector",
                              kUpdate);

}  // namespace cpu
}  // namespace oneflow
