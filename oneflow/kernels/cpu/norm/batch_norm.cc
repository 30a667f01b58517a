// The kernels of batch normalisation, forward.
//
// batch_norm: x, [weight], [bias] -> y, mean, variance (biased).
// batch_norm_inference: x, mean, variance, [weight], [bias] -> y.
// batch_norm_moments: x -> mean, variance.
// batch_norm_update_stats: running mean, running variance, mean, variance, in place.
//
// "vector" computes in the dtype of its arrays, float32 or float64; "bfloat16" reads and writes arrays of that, with
// statistics in float32 and parameters of either.
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

template <typename T>
struct Affine {
  ChannelValues weight, bias;
  double epsilon;

  Affine(const KernelCall& call, int at)
      : weight(call, at, 1.0),
        bias(call, at + 1, 0.0),
        epsilon(call.GetAttrs<BatchNormAttrs>().epsilon) {}
  T scale(int64_t c, double variance) const {
    return static_cast<T>(1.0 / std::sqrt(variance + epsilon) * weight[c]);
  }
  T shift(int64_t c) const { return static_cast<T>(bias[c]); }
  template <typename Variance>
  void Fill(int64_t channels, const Variance& variance, T* scales, T* shifts) const {
    for (int64_t c = 0; c < channels; ++c) {
      scales[c] = scale(c, static_cast<double>(variance[c]));
      shifts[c] = shift(c);
    }
  }
};

// y of channels that are runs: those of one channel.
template <typename T, typename E>
void NormalizeRuns(const E* x, E* y, const ChannelExtents& e, int64_t c, T mean, T variance,
                   const Affine<T>& affine) {
  const int64_t at = c * e.inner;
  GetRunLoops<T, E>().normalize(x + at, y + at, RunsOf(e), mean,
                                affine.scale(c, static_cast<double>(variance)), affine.shift(c));
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

// Of channels that are runs.
template <typename T, typename E = T>
Maybe<void> TrainRuns(const KernelCall& call) {
  const ChannelExtents e(call.inputs[0], call.GetAttrs<BatchNormAttrs>().axis);
  const Affine<T> affine(call, 1);
  const E* x = call.inputs[0].Data<E>();
  E* y = call.outputs[0].Data<E>();
  // A channel is normalised while it is still in the cache.
  ParallelFor(call.threads, e.channels, 1, [&](int64_t c, int64_t) {
    T mean, variance;
    RunMoments(x, e, c, &mean, &variance);
    PutChannelValue(call.outputs[1], c, static_cast<double>(mean));
    PutChannelValue(call.outputs[2], c, static_cast<double>(variance));
    NormalizeRuns(x, y, e, c, mean, variance, affine);
  });
  return Ok();
}

template <typename T>
Maybe<void> Train(const KernelCall& call) {
  const ChannelExtents e(call.inputs[0], call.GetAttrs<BatchNormAttrs>().axis);
  if (e.inner != 1) { return TrainRuns<T>(call); }
  const T* x = call.inputs[0].Data<T>();
  T* mean = call.outputs[1].Data<T>();
  T* variance = call.outputs[2].Data<T>();
  ChannelMoments(x, e, mean, variance, call.scratch, call.threads);
  NormalizeNeighbours(x, call.outputs[0].Data<T>(), e, mean, variance, Affine<T>(call, 1),
                      call.scratch, call.threads);
  return Ok();
}

// Of channels that are runs. `scratch` holds two numbers for each channel.
template <typename T, typename E = T>
Maybe<void> InferRuns(const KernelCall& call) {
  const ChannelExtents e(call.inputs[0], call.GetAttrs<BatchNormAttrs>().axis);
  const E* x = call.inputs[0].Data<E>();
  E* y = call.outputs[0].Data<E>();
  const ChannelValues mean(call, 1, 0.0);
  T* scale = static_cast<T*>(call.scratch);
  T* shift = scale + e.channels;
  Affine<T>(call, 3).Fill(e.channels, ChannelValues(call, 2, 1.0), scale, shift);
  const int64_t grain = std::max<int64_t>(1, 8192 / std::max<int64_t>(1, e.inner));
  ParallelFor(call.threads, e.outer * e.channels, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t c = i % e.channels;
      GetRunLoops<T, E>().normalize(x + i * e.inner, y + i * e.inner, {1, 0, e.inner},
                                    static_cast<T>(mean[c]), scale[c], shift[c]);
    }
  });
  return Ok();
}

template <typename T>
Maybe<void> Infer(const KernelCall& call) {
  const ChannelExtents e(call.inputs[0], call.GetAttrs<BatchNormAttrs>().axis);
  if (e.inner != 1) { return InferRuns<T>(call); }
  NormalizeNeighbours(call.inputs[0].Data<T>(), call.outputs[0].Data<T>(), e,
                      call.inputs[1].Data<T>(), call.inputs[2].Data<T>(), Affine<T>(call, 3),
                      call.scratch, call.threads);
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
  const bool twice = call.outputs[0].dtype == DataType::kDouble;
  return static_cast<size_t>(2 * e.channels) * (twice ? sizeof(double) : sizeof(float));
}

double TrainCost(const KernelCall& call) {
  return ElementwiseCostNs(call) + 0.2 * static_cast<double>(call.outputs[0].Count());
}
double MomentsCost(const KernelCall& call) {
  return ElementwiseCostNs(call) + 0.1 * static_cast<double>(call.inputs[0].Count());
}

const char* AcceptBFloat16(const KernelCall& call) {
  return AcceptBFloat16Runs(call, 0, call.GetAttrs<BatchNormAttrs>().axis);
}

constexpr DenseKernel kTrain = {&RunTrain, &TrainCost, &TrainScratch};
constexpr DenseKernel kInference = {&RunInference, &ElementwiseCostNs, &InferenceScratch};
constexpr DenseKernel kMoments = {&RunMomentsOnly, &MomentsCost, &TrainScratch};
constexpr DenseKernel kUpdate = {&RunUpdateStats, &ElementwiseCostNs};

}  // namespace

ONEFLOW_REGISTER_KERNEL(batch_norm_bfloat16,
                        {"batch_norm.cpu.bfloat16", &TrainRuns<float, BFloat16>, &AcceptBFloat16,
                         &TrainCost});
ONEFLOW_REGISTER_KERNEL(batch_norm_inference_bfloat16,
                        {"batch_norm_inference.cpu.bfloat16", &InferRuns<float, BFloat16>,
                         &AcceptBFloat16, &ElementwiseCostNs, &InferenceScratch});
ONEFLOW_REGISTER_DENSE_KERNEL(batch_norm, "batch_norm.cpu.vector", kTrain);
ONEFLOW_REGISTER_DENSE_KERNEL(batch_norm_inference, "batch_norm_inference.cpu.vector", kInference);
ONEFLOW_REGISTER_DENSE_KERNEL(batch_norm_moments, "batch_norm_moments.cpu.vector", kMoments);
ONEFLOW_REGISTER_DENSE_KERNEL(batch_norm_update_stats, "batch_norm_update_stats.cpu.vector",
                              kUpdate);

}  // namespace cpu
}  // namespace oneflow
