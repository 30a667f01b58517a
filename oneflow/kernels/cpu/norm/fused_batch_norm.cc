// The kernels fused_batch_norm, fused_batch_norm_backward and fused_batch_norm_add_backward.
//
// Forward: x, [weight], [bias], [addend] -> y, mean, variance.
// Backward: dy, [more], x, [weight], mean, variance, [y] -> dx, dweight, dbias, [gradient of the addend].
//
// A thread works on one channel after the other: what a channel needs stays in the second-level cache
// between the passes over it. Result 0 may be the very array of an operand: a channel is read before it is written, and
// at last element by element. Results that fit no cache are written past all of them.
#include <cmath>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs_norm.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/dense_kernel.h"
#include "oneflow/kernels/cpu/norm/channel_stats.h"
#include "oneflow/kernels/cpu/norm/fused_norm_loops.h"
#include "oneflow/kernels/cpu/stream_loops.h"

namespace oneflow {
namespace cpu {

namespace {

constexpr int64_t kAxis = 1;

template <typename T>
T* DataOf(const KernelCall& call, int input) {
  return call.HasInput(input) ? call.inputs[input].Data<T>() : nullptr;
}

// Is result 0 better written past the caches? `run`: bytes that are written at a time, of whole lines.
bool Streams(const KernelCall& call, int64_t run) {
  const ArrayView& to = call.outputs[0];
  double touched = 0;
  for (int i = 0; i < call.num_inputs; ++i) {
    if (!call.inputs[i].given) { continue; }
    touched += BytesOf(call.inputs[i]);
    if (call.inputs[i].data == to.data) { return false; }
  }
  for (int i = 0; i < call.num_outputs; ++i) { touched += BytesOf(call.outputs[i]); }
  return run % 64 == 0 &&
         WorthStreaming(to.data, static_cast<int64_t>(BytesOf(to)), static_cast<int64_t>(touched));
}

// Calls body(channel) for each channel, then makes streamed results visible.
template <typename Body>
void ForEachChannel(const KernelCall& call, const ChannelExtents& e, bool streams,
                    const Body& body) {
  ParallelFor(call.threads, e.channels, 1, [&](int64_t c, int64_t) {
    body(c);
    if (streams) { GetStreamLoops().fence(); }
  });
}

template <typename T>
T ScaleOf(const T* weight, int64_t c, T variance, double epsilon) {
  const double inv_std = 1.0 / std::sqrt(static_cast<double>(variance) + epsilon);
  return static_cast<T>(inv_std * (weight == nullptr ? 1.0 : static_cast<double>(weight[c])));
}

template <typename T>
Maybe<void> Forward(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<FusedBatchNormAttrs>();
  const ChannelExtents e(call.inputs[0], kAxis);
  const T* x = call.inputs[0].Data<T>();
  const T* weight = DataOf<T>(call, 1);
  const T* bias = DataOf<T>(call, 2);
  const T* addend = DataOf<T>(call, 3);
  T* y = call.outputs[0].Data<T>();
  T* mean = call.outputs[1].Data<T>();
  T* variance = call.outputs[2].Data<T>();
  const bool streams = Streams(call, e.inner * static_cast<int64_t>(sizeof(T)));
  ForEachChannel(call, e, streams, [&](int64_t c) {
    RunMoments(x, e, c, mean + c, variance + c);
    const T scale = ScaleOf(weight, c, variance[c], attrs.epsilon);
    const T shift = bias == nullptr ? T{0} : bias[c];
    const int64_t at = c * e.inner;
    GetFusedNormLoops<T>().run(x + at, addend == nullptr ? nullptr : addend + at, y + at, RunsOf(e),
                               mean[c], scale, shift, attrs.relu, streams);
  });
  return Ok();
}

template <typename T>
Maybe<void> Backward(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<FusedBatchNormAttrs>();
  const ChannelExtents e(call.inputs[2], kAxis);
  const FusedNormLoops<T>& loops = GetFusedNormLoops<T>();
  const FusedGradient<T> arrives{DataOf<T>(call, 0), DataOf<T>(call, 1), DataOf<T>(call, 6)};
  const T* x = call.inputs[2].Data<T>();
  const T* weight = DataOf<T>(call, 3);
  const T* mean = call.inputs[4].Data<T>();
  const T* variance = call.inputs[5].Data<T>();
  T* dx = call.outputs[0].Data<T>();
  T* kept = call.num_outputs > 3 ? call.outputs[3].Data<T>() : nullptr;
  const FusedGradient<T> gradient = kept == nullptr ? arrives : FusedGradient<T>{kept};
  const bool streams = Streams(call, e.inner * static_cast<int64_t>(sizeof(T)));
  ForEachChannel(call, e, streams, [&](int64_t c) {
    const int64_t at = c * e.inner;
    const Runs runs = RunsOf(e);
    double sum_g, sum_gx;
    loops.sums(arrives.At(at), x + at, kept == nullptr ? nullptr : kept + at, runs, mean[c], &sum_g,
               &sum_gx);
    const double inv_std = 1.0 / std::sqrt(static_cast<double>(variance[c]) + attrs.epsilon);
    const double n = static_cast<double>(e.count());
    call.outputs[1].Data<T>()[c] = static_cast<T>(sum_gx * inv_std);
    call.outputs[2].Data<T>()[c] = static_cast<T>(sum_g);
    const T m = static_cast<T>(sum_g / n);
    const T k = static_cast<T>(sum_gx * inv_std * inv_std / n);
    const T scale = ScaleOf(weight, c, variance[c], attrs.epsilon);
    loops.backward(gradient.At(at), x + at, dx + at, runs, mean[c], m, k, scale, streams);
  });
  return Ok();
}

Maybe<void> RunForward(const KernelCall& call) {
  return call.inputs[0].dtype == DataType::kDouble ? Forward<double>(call) : Forward<float>(call);
}
Maybe<void> RunBackward(const KernelCall& call) {
  return call.inputs[0].dtype == DataType::kDouble ? Backward<double>(call) : Backward<float>(call);
}

double Cost(const KernelCall& call) {
  return ElementwiseCostNs(call) + 0.2 * static_cast<double>(call.outputs[0].Count());
}

const char* Accept(const KernelCall& call) {
  return call.GetAttrs<FusedBatchNormAttrs>().blocked ? "channels in blocks" : nullptr;
}

constexpr DenseKernel kForward = {&RunForward, &Cost, nullptr, &Accept};
constexpr DenseKernel kBackward = {&RunBackward, &Cost, nullptr, &Accept};

}  // namespace

ONEFLOW_REGISTER_DENSE_KERNEL(fused_batch_norm, "fused_batch_norm.cpu.vector", kForward);
ONEFLOW_REGISTER_DENSE_KERNEL(fused_batch_norm_backward, "fused_batch_norm_backward.cpu.vector",
                              kBackward);
ONEFLOW_REGISTER_DENSE_KERNEL(fused_batch_norm_add_backward,
                              "fused_batch_norm_add_backward.cpu.vector", kBackward);

}  // namespace cpu
}  // namespace oneflow
