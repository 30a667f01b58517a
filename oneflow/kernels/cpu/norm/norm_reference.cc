// Reference kernels of the norms: which elements are normalised together is all that tells layer,
// group and batch norm apart.
#include <cmath>
#include <functional>

#include "oneflow/kernels/attrs_norm.h"
#include "oneflow/kernels/cpu/reference_arrays.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {
namespace reference {

namespace {

size_t At(int64_t i) { return static_cast<size_t>(i); }

// Which group element i is normalised in, and which weight it gets.
struct Partition {
  int64_t count = 0;  // of elements
  int64_t groups = 0, weights = 0;
  std::function<int64_t(int64_t)> group, weight;
};

Partition OfLayer(const ArrayView& x, int64_t begin) {
  const int64_t n = SizeOfDims(x, begin, x.ndim);
  return {x.Count(), SizeOfDims(x, 0, begin), n, [n](int64_t i) { return i / n; },
          [n](int64_t i) { return i % n; }};
}

Partition OfBatch(const ArrayView& x, int64_t axis) {
  const int64_t channels = x.shape[axis];
  const int64_t inner = SizeOfDims(x, axis + 1, x.ndim);
  const auto channel = [=](int64_t i) { return i / inner % channels; };
  return {x.Count(), channels, channels, channel, channel};
}

Partition OfGroup(const ArrayView& x, int64_t groups) {
  const int64_t channels = x.shape[1];
  const int64_t inner = SizeOfDims(x, 2, x.ndim);
  return {x.Count(), x.shape[0] * groups, channels,
          [=](int64_t i) { return i / (inner * (channels / groups)); },
          [=](int64_t i) { return i / inner % channels; }};
}

Reals MeanOf(const Partition& p, const Reals& values) {
  Reals sum(At(p.groups), 0.0), n(At(p.groups), 0.0);
  for (int64_t i = 0; i < p.count; ++i) {
    sum[At(p.group(i))] += values[At(i)];
    n[At(p.group(i))] += 1.0;
  }
  for (size_t g = 0; g < sum.size(); ++g) { sum[g] /= n[g]; }
  return sum;
}

// The mean and the variance around it; without `center` around 0.
void MomentsOf(const Partition& p, const Reals& x, bool center, Reals* mean, Reals* variance) {
  *mean = center ? MeanOf(p, x) : Reals(At(p.groups), 0.0);
  Reals squares = x;
  for (int64_t i = 0; i < p.count; ++i) {
    const double d = x[At(i)] - (*mean)[At(p.group(i))];
    squares[At(i)] = d * d;
  }
  *variance = MeanOf(p, squares);
}

Reals InverseStds(const Reals& variance, double epsilon) {
  Reals out;
  for (double v : variance) { out.push_back(1.0 / std::sqrt(v + epsilon)); }
  return out;
}

Reals Normalized(const Partition& p, const Reals& x, const Reals& mean, const Reals& inv_std,
                 const Reals& weight, const Reals& bias) {
  Reals y = x;
  for (int64_t i = 0; i < p.count; ++i) {
    const size_t g = At(p.group(i));
    const int64_t w = p.weight(i);
    y[At(i)] = (x[At(i)] - mean[g]) * inv_std[g] * OrElse(weight, w, 1.0) + OrElse(bias, w, 0.0);
  }
  return y;
}

struct Gradients {
  Reals dx, dweight, dbias;
};

// With d = x - mean and s = 1 / sqrt(variance + epsilon), means taken over groups:
// dx = s (g - mean(g) - d s^2 mean(g d)) where g = dy w. Statistics that were `given` depend on
// nothing: then dx = s g.
Gradients GradientsOf(const Partition& p, const Reals& dy, const Reals& x, const Reals& weight,
                      const Reals& mean, const Reals& inv_std, bool center, bool given) {
  Gradients out{Reals(x.size(), 0.0), Reals(At(p.weights), 0.0), Reals(At(p.weights), 0.0)};
  Reals g = dy, gd = dy;
  for (int64_t i = 0; i < p.count; ++i) {
    const size_t group = At(p.group(i));
    const size_t w = At(p.weight(i));
    const double d = x[At(i)] - mean[group];
    g[At(i)] = dy[At(i)] * OrElse(weight, p.weight(i), 1.0);
    gd[At(i)] = g[At(i)] * d;
    out.dweight[w] += dy[At(i)] * d * inv_std[group];
    out.dbias[w] += dy[At(i)];
  }
  const Reals mean_g = MeanOf(p, g), mean_gd = MeanOf(p, gd);
  for (int64_t i = 0; i < p.count; ++i) {
    const size_t group = At(p.group(i));
    const double s = inv_std[group];
    const double by_mean = center ? mean_g[group] : 0.0;
    const double by_variance = (x[At(i)] - mean[group]) * s * s * mean_gd[group];
    out.dx[At(i)] = s * (g[At(i)] - (given ? 0.0 : by_mean + by_variance));
  }
  if (!center) { out.dbias.assign(out.dbias.size(), 0.0); }
  return out;
}

// A result that is not wanted is empty.
void PutIfAny(const ArrayView& view, const Reals& values) {
  if (view.Count() > 0) { Put(view, values); }
}

void PutGradients(const KernelCall& call, const Gradients& gradients) {
  Put(call.outputs[0], gradients.dx);
  PutIfAny(call.outputs[1], gradients.dweight);
  PutIfAny(call.outputs[2], gradients.dbias);
}

Reals Input(const KernelCall& call, int i) {
  return call.HasInput(i) ? RealsOf(call.inputs[i]) : Reals();
}

// ---- layer norm and group norm: x, [weight], [bias] -> y, mean, inv_std -------------------------

void Forward(const KernelCall& call, const Partition& p, double epsilon, bool center) {
  const Reals x = Input(call, 0);
  Reals mean, variance;
  MomentsOf(p, x, center, &mean, &variance);
  const Reals inv_std = InverseStds(variance, epsilon);
  Put(call.outputs[0], Normalized(p, x, mean, inv_std, Input(call, 1), Input(call, 2)));
  Put(call.outputs[1], mean);
  Put(call.outputs[2], inv_std);
}

// dy, x, [weight], mean, inv_std -> dx, dweight, dbias.
void Backward(const KernelCall& call, const Partition& p, bool center) {
  PutGradients(call, GradientsOf(p, Input(call, 0), Input(call, 1), Input(call, 2), Input(call, 3),
                                 Input(call, 4), center, false));
}

Maybe<void> RunLayer(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<LayerNormAttrs>();
  Forward(call, OfLayer(call.inputs[0], attrs.begin_axis), attrs.epsilon, attrs.center);
  return Ok();
}
Maybe<void> RunLayerBackward(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<LayerNormAttrs>();
  Backward(call, OfLayer(call.inputs[1], attrs.begin_axis), attrs.center);
  return Ok();
}
Maybe<void> RunGroup(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<GroupNormAttrs>();
  Forward(call, OfGroup(call.inputs[0], attrs.groups), attrs.epsilon, true);
  return Ok();
}
Maybe<void> RunGroupBackward(const KernelCall& call) {
  Backward(call, OfGroup(call.inputs[1], call.GetAttrs<GroupNormAttrs>().groups), true);
  return Ok();
}

// ---- batch norm ---------------------------------------------------------------------------------

Maybe<void> RunBatch(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<BatchNormAttrs>();
  const Partition p = OfBatch(call.inputs[0], attrs.axis);
  const Reals x = Input(call, 0);
  Reals mean, variance;
  MomentsOf(p, x, true, &mean, &variance);
  const Reals inv_std = InverseStds(variance, attrs.epsilon);
  Put(call.outputs[0], Normalized(p, x, mean, inv_std, Input(call, 1), Input(call, 2)));
  Put(call.outputs[1], mean);
  Put(call.outputs[2], variance);
  return Ok();
}

Maybe<void> RunInference(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<BatchNormAttrs>();
  const Partition p = OfBatch(call.inputs[0], attrs.axis);
  const Reals inv_std = InverseStds(Input(call, 2), attrs.epsilon);
  Put(call.outputs[0],
      Normalized(p, Input(call, 0), Input(call, 1), inv_std, Input(call, 3), Input(call, 4)));
  return Ok();
}

Maybe<void> RunMoments(const KernelCall& call) {
  const Partition p = OfBatch(call.inputs[0], call.GetAttrs<BatchNormAttrs>().axis);
  Reals mean, variance;
  MomentsOf(p, Input(call, 0), true, &mean, &variance);
  Put(call.outputs[0], mean);
  Put(call.outputs[1], variance);
  return Ok();
}

Maybe<void> RunUpdateStats(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<UpdateStatsAttrs>();
  for (int i = 0; i < 2; ++i) {
    Reals running = Input(call, i);
    const Reals batch = Input(call, i + 2);
    const double factor = attrs.momentum * (i == 1 ? attrs.correction : 1.0);
    for (size_t c = 0; c < running.size(); ++c) {
      running[c] = (1.0 - attrs.momentum) * running[c] + factor * batch[c];
    }
    Put(call.outputs[i], running);
  }
  return Ok();
}

// dy, x, [weight], mean, variance -> dx, dweight, dbias.
Maybe<void> RunBatchBackward(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<BatchNormAttrs>();
  const Partition p = OfBatch(call.inputs[1], attrs.axis);
  PutGradients(call,
               GradientsOf(p, Input(call, 0), Input(call, 1), Input(call, 2), Input(call, 3),
                           InverseStds(Input(call, 4), attrs.epsilon), true, !attrs.training));
  return Ok();
}

// ---- fused batch norm ---------------------------------------------------------------------------

Partition OfFused(const ArrayView& x, bool blocked) {
  if (!blocked) { return OfBatch(x, 1); }
  const int64_t blocks = x.shape[1];
  const int64_t lanes = x.shape[4];
  const int64_t inner = SizeOfDims(x, 2, 5);
  const auto channel = [=](int64_t i) { return i / inner % blocks * lanes + i % lanes; };
  return {x.Count(), blocks * lanes, blocks * lanes, channel, channel};
}

// x, [weight], [bias], [addend] -> y, mean, variance.
Maybe<void> RunFused(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<FusedBatchNormAttrs>();
  const Partition p = OfFused(call.inputs[0], attrs.blocked);
  const Reals x = Input(call, 0), addend = Input(call, 3);
  Reals mean, variance;
  MomentsOf(p, x, true, &mean, &variance);
  const Reals inv_std = InverseStds(variance, attrs.epsilon);
  Reals y = Normalized(p, x, mean, inv_std, Input(call, 1), Input(call, 2));
  for (int64_t i = 0; i < p.count; ++i) {
    y[At(i)] += OrElse(addend, i, 0.0);
    if (attrs.relu && y[At(i)] <= 0.0) { y[At(i)] = 0.0; }
  }
  Put(call.outputs[0], y);
  Put(call.outputs[1], mean);
  Put(call.outputs[2], variance);
  return Ok();
}

// dy, [more], x, [weight], mean, variance, [y] -> dx, dweight, dbias, [gradient of the addend].
Maybe<void> RunFusedBackward(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<FusedBatchNormAttrs>();
  const Partition p = OfFused(call.inputs[2], attrs.blocked);
  Reals g = Input(call, 0);
  const Reals more = Input(call, 1), y = Input(call, 6);
  for (int64_t i = 0; i < p.count; ++i) {
    g[At(i)] += OrElse(more, i, 0.0);
    if (!(OrElse(y, i, 1.0) > 0.0)) { g[At(i)] = 0.0; }
  }
  PutGradients(call, GradientsOf(p, g, Input(call, 2), Input(call, 3), Input(call, 4),
                                 InverseStds(Input(call, 5), attrs.epsilon), true, false));
  if (call.num_outputs > 3) { Put(call.outputs[3], g); }
  return Ok();
}

double Cost(const KernelCall& call) { return 200.0 * static_cast<double>(call.inputs[0].Count()); }

}  // namespace

#define ONEFLOW_REGISTER_REFERENCE(name, run) \
  ONEFLOW_REGISTER_KERNEL(name, {#name ".cpu.reference", &run, nullptr, &Cost})

ONEFLOW_REGISTER_REFERENCE(layer_norm, RunLayer);
ONEFLOW_REGISTER_REFERENCE(layer_norm_backward, RunLayerBackward);
ONEFLOW_REGISTER_REFERENCE(group_norm, RunGroup);
ONEFLOW_REGISTER_REFERENCE(group_norm_backward, RunGroupBackward);
ONEFLOW_REGISTER_REFERENCE(batch_norm, RunBatch);
ONEFLOW_REGISTER_REFERENCE(batch_norm_inference, RunInference);
ONEFLOW_REGISTER_REFERENCE(batch_norm_moments, RunMoments);
ONEFLOW_REGISTER_REFERENCE(batch_norm_update_stats, RunUpdateStats);
ONEFLOW_REGISTER_REFERENCE(batch_norm_backward, RunBatchBackward);
ONEFLOW_REGISTER_REFERENCE(fused_batch_norm, RunFused);
ONEFLOW_REGISTER_REFERENCE(fused_batch_norm_backward, RunFusedBackward);
ONEFLOW_REGISTER_REFERENCE(fused_batch_norm_add_backward, RunFusedBackward);

}  // namespace reference
}  // namespace cpu
}  // namespace oneflow
