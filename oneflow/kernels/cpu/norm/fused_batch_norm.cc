// The kernels fused_batch_norm, fused_batch_norm_backward and fused_batch_norm_add_backward.
//
// Forward: x, [weight], [bias], [addend] -> y, mean, variance.
// Backward: dy, [more], x, [weight], mean, variance, [y] -> dx, dweight, dbias, [gradient of the addend].
//
// A thread works on one channel after the other: what a channel needs stays in the second-level cache
// between the passes over it. Result 0 may be the very array of an operand: a channel is read before it is written, and
// at last element by element. Results that fit no cache are written past all of them.
//
// "vector" and "bfloat16" as in batch_norm.cc.
#include <cmath>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs_norm.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/dense_kernel.h"
#include "oneflow/kernels/cpu/norm/channel_stats.h"
#include "oneflow/kernels/cpu/norm/channel_values.h"
#include "oneflow/kernels/cpu/norm/fused_norm_loops.h"
#include "oneflow/kernels/cpu/norm/fused_operands.h"
#include "oneflow/kernels/cpu/stream_loops.h"

namespace oneflow {
namespace cpu {

namespace {

constexpr int64_t kAxis = 1;

// Of an image's channel, which is written at a time.
template <typename E>
bool WritesWholeLines(const ChannelExtents& e) {
  return e.inner * static_cast<int64_t>(sizeof(E)) % 64 == 0;
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

// With arrays of E: T, or BFloat16 with T = float.
template <typename T, typename E = T>
Maybe<void> Forward(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<FusedBatchNormAttrs>();
  const ChannelExtents e(call.inputs[0], kAxis);
  const E* x = call.inputs[0].Data<E>();
  const ChannelValues weight(call, 1, 1.0), bias(call, 2, 0.0);
  const E* addend = DataOf<E>(call, 3);
  E* y = call.outputs[0].Data<E>();
  const bool streams = WritesWholeLines<E>(e) && WorthStreamingResult(call);
  ForEachChannel(call, e, streams, [&](int64_t c) {
    T mean, variance;
    RunMoments(x, e, c, &mean, &variance);
    PutChannelValue(call.outputs[1], c, static_cast<double>(mean));
    PutChannelValue(call.outputs[2], c, static_cast<double>(variance));
    const double inv_std = 1.0 / std::sqrt(static_cast<double>(variance) + attrs.epsilon);
    const int64_t at = c * e.inner;
    GetFusedNormLoops<T, E>().run(x + at, addend == nullptr ? nullptr : addend + at, y + at,
                                  RunsOf(e), mean, static_cast<T>(inv_std * weight[c]),
                                  static_cast<T>(bias[c]), attrs.relu, streams);
  });
  return Ok();
}

template <typename T, typename E = T>
Maybe<void> Backward(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<FusedBatchNormAttrs>();
  const ChannelExtents e(call.inputs[2], kAxis);
  const FusedNormLoops<T, E>& loops = GetFusedNormLoops<T, E>();
  const FusedGradient<E> arrives{DataOf<E>(call, 0), DataOf<E>(call, 1), DataOf<E>(call, 6)};
  const E* x = call.inputs[2].Data<E>();
  const ChannelValues weight(call, 3, 1.0), means(call, 4, 0.0), variances(call, 5, 1.0);
  E* dx = call.outputs[0].Data<E>();
  E* kept = call.num_outputs > 3 ? call.outputs[3].Data<E>() : nullptr;
  const FusedGradient<E> gradient = kept == nullptr ? arrives : FusedGradient<E>{kept};
  const bool streams = WritesWholeLines<E>(e) && WorthStreamingResult(call);
  ForEachChannel(call, e, streams, [&](int64_t c) {
    const int64_t at = c * e.inner;
    const Runs runs = RunsOf(e);
    const T mean = static_cast<T>(means[c]);
    double sum_g, sum_gx;
    loops.sums(arrives.At(at), x + at, kept == nullptr ? nullptr : kept + at, runs, mean, &sum_g,
               &sum_gx);
    const double inv_std = 1.0 / std::sqrt(variances[c] + attrs.epsilon);
    const double n = static_cast<double>(e.count());
    PutChannelValue(call.outputs[1], c, sum_gx * inv_std);
    PutChannelValue(call.outputs[2], c, sum_g);
    const T m = static_cast<T>(sum_g / n);
    const T k = static_cast<T>(sum_gx * inv_std * inv_std / n);
    loops.backward(gradient.At(at), x + at, dx + at, runs, mean, m, k,
                   static_cast<T>(inv_std * weight[c]), streams);
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

template <int kInput>
const char* AcceptBFloat16(const KernelCall& call) {
  if (Accept(call) != nullptr) { return Accept(call); }
  return AcceptBFloat16Runs(call, kInput, kAxis);
}

constexpr DenseKernel kForward = {&RunForward, &Cost, nullptr, &Accept};
constexpr DenseKernel kBackward = {&RunBackward, &Cost, nullptr, &Accept};

}  // namespace

ONEFLOW_REGISTER_KERNEL(fused_batch_norm_bfloat16,
                        {"fused_batch_norm.cpu.bfloat16", &Forward<float, BFloat16>,
                         &AcceptBFloat16<0>, &Cost});
ONEFLOW_REGISTER_KERNEL(fused_batch_norm_backward_bfloat16,
                        {"fused_batch_norm_backward.cpu.bfloat16", &Backward<float, BFloat16>,
                         &AcceptBFloat16<2>, &Cost});
ONEFLOW_REGISTER_KERNEL(fused_batch_norm_add_backward_bfloat16,
                        {"fused_batch_norm_add_backward.cpu.bfloat16", &Backward<float, BFloat16>,
                         &AcceptBFloat16<2>, &Cost});
ONEFLOW_REGISTER_DENSE_KERNEL(fused_batch_norm, "fused_batch_norm.cpu.vector", kForward);
ONEFLOW_REGISTER_DENSE_KERNEL(fused_batch_norm_backward, "fused_batch_norm_backward.cpu.vector",
                              kBackward);
ONEFLOW_REGISTER_DENSE_KERNEL(fused_batch_norm_add_backward,
                              "fused_batch_norm_add_backward.cpu.vector", kBackward);

}  // namespace cpu
}  // namespace oneflow
