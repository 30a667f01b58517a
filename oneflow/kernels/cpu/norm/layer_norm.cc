// The kernels layer_norm and layer_norm_backward; RMS norm is the same without a mean.
//
// layer_norm: x, [weight], [bias] -> y, mean, inv_std (1 / sqrt(variance + epsilon)).
// layer_norm_backward: dy, x, [weight], mean, inv_std -> dx, dweight, dbias (both empty without a
// weight).
#include <algorithm>
#include <cmath>
#include <cstring>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs_norm.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/dense_kernel.h"
#include "oneflow/kernels/cpu/norm/norm_loops.h"

namespace oneflow {
namespace cpu {

namespace {

constexpr int64_t kGrainElements = 8192;

// x as rows of `n` elements that are normalised together.
struct Rows {
  int64_t rows = 1, n = 1;

  Rows(const ArrayView& x, int64_t begin) {
    for (int d = 0; d < x.ndim; ++d) { (d < begin ? rows : n) *= x.shape[d]; }
  }
  int64_t grain() const { return std::max<int64_t>(1, kGrainElements / std::max<int64_t>(1, n)); }
};

template <typename T>
const T* OptionalData(const KernelCall& call, int i) {
  return call.HasInput(i) ? call.inputs[i].Data<T>() : nullptr;
}

template <typename T>
Maybe<void> Forward(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<LayerNormAttrs>();
  const Rows r(call.inputs[0], attrs.begin_axis);
  const NormLoops<T>& loops = GetNormLoops<T>();
  const T* x = call.inputs[0].Data<T>();
  const T* weight = OptionalData<T>(call, 1);
  const T* bias = OptionalData<T>(call, 2);
  T* y = call.outputs[0].Data<T>();
  T* means = call.outputs[1].Data<T>();
  T* inv_stds = call.outputs[2].Data<T>();
  const double count = static_cast<double>(r.n);
  ParallelFor(call.threads, r.rows, r.grain(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T* from = x + i * r.n;
      const T mean = attrs.center ? static_cast<T>(loops.sum(from, r.n) / count) : T{0};
      const double variance = loops.sum_squares(from, r.n, mean) / count;
      const T inv_std = static_cast<T>(1.0 / std::sqrt(variance + attrs.epsilon));
      loops.row(from, y + i * r.n, r.n, mean, inv_std, weight, bias);
      means[i] = mean;
      inv_stds[i] = inv_std;
    }
  });
  return Ok();
}

// The gradients of weight and bias are added up over stretches of rows, then over the stretches.
// A stretch has at least kMinStretch rows, and there are at most kMaxStretches.
constexpr int64_t kMinStretch = 16;
constexpr int64_t kMaxStretches = 64;

int64_t StretchRows(const Rows& r) {
  return std::max(kMinStretch, (r.rows + kMaxStretches - 1) / kMaxStretches);
}
int64_t Stretches(const Rows& r) { return (r.rows + StretchRows(r) - 1) / StretchRows(r); }

size_t BackwardScratch(const KernelCall& call) {
  if (!call.HasInput(2)) { return 0; }
  const Rows r(call.inputs[1], call.GetAttrs<LayerNormAttrs>().begin_axis);
  return static_cast<size_t>(2 * Stretches(r) * r.n) * SizeOf(call.outputs[0].dtype);
}

// to[j] = the sum over stretches of parts[stretch][j].
template <typename T>
void AddStretches(const T* parts, int64_t stretches, int64_t step, int64_t n, T* to, int threads) {
  const NormLoops<T>& loops = GetNormLoops<T>();
  ParallelFor(threads, n, kNormTile, [&](int64_t begin, int64_t end) {
    double sum[kNormTile] = {};
    loops.columns_sum(parts + begin, step, stretches, end - begin, sum);
    for (int64_t j = begin; j < end; ++j) { to[j] = static_cast<T>(sum[j - begin]); }
  });
}

template <typename T>
struct Gradients {
  const KernelCall& call;
  const LayerNormAttrs& attrs;
  Rows r;
  const T* dy;
  const T* x;
  const T* weight;
  const T* means;
  const T* inv_stds;
  T* dx;

  explicit Gradients(const KernelCall& c)
      : call(c),
        attrs(c.GetAttrs<LayerNormAttrs>()),
        r(c.inputs[1], attrs.begin_axis),
        dy(c.inputs[0].Data<T>()),
        x(c.inputs[1].Data<T>()),
        weight(OptionalData<T>(c, 2)),
        means(c.inputs[3].Data<T>()),
        inv_stds(c.inputs[4].Data<T>()),
        dx(c.outputs[0].Data<T>()) {}

  void Row(int64_t i, T* dw, T* db) const {
    const NormLoops<T>& loops = GetNormLoops<T>();
    const T* g = dy + i * r.n;
    const T* from = x + i * r.n;
    const double count = static_cast<double>(r.n);
    const double inv_std = static_cast<double>(inv_stds[i]);
    double sum_dy, sum_dyx;
    loops.row_sums(g, from, r.n, means[i], weight, &sum_dy, &sum_dyx);
    const T m = attrs.center ? static_cast<T>(sum_dy / count) : T{0};
    const T k = static_cast<T>(sum_dyx * inv_std * inv_std / count);
    loops.row_backward(g, from, dx + i * r.n, r.n, means[i], m, k, inv_stds[i], weight);
    if (dw != nullptr) { loops.row_weights(g, from, r.n, means[i], inv_stds[i], dw, db); }
  }
};

template <typename T>
Maybe<void> Backward(const KernelCall& call) {
  const Gradients<T> g(call);
  const Rows& r = g.r;
  if (g.weight == nullptr) {
    ParallelFor(call.threads, r.rows, r.grain(), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) { g.Row(i, nullptr, nullptr); }
    });
    return Ok();
  }
  T* parts = static_cast<T*>(call.scratch);
  const int64_t rows = StretchRows(r);
  ParallelFor(call.threads, Stretches(r), 1, [&](int64_t stretch, int64_t) {
    T* dw = parts + 2 * stretch * r.n;
    T* db = g.attrs.center ? dw + r.n : nullptr;
    std::memset(dw, 0, static_cast<size_t>(2 * r.n) * sizeof(T));
    const int64_t end = std::min(r.rows, (stretch + 1) * rows);
    for (int64_t i = stretch * rows; i < end; ++i) { g.Row(i, dw, db); }
  });
  AddStretches(parts, Stretches(r), 2 * r.n, r.n, call.outputs[1].Data<T>(), call.threads);
  AddStretches(parts + r.n, Stretches(r), 2 * r.n, r.n, call.outputs[2].Data<T>(), call.threads);
  return Ok();
}

Maybe<void> RunForward(const KernelCall& call) {
  return call.inputs[0].dtype == DataType::kDouble ? Forward<double>(call) : Forward<float>(call);
}
Maybe<void> RunBackward(const KernelCall& call) {
  return call.inputs[0].dtype == DataType::kDouble ? Backward<double>(call) : Backward<float>(call);
}

// Rows are read again from the first-level cache.
double ForwardCost(const KernelCall& call) {
  return ElementwiseCostNs(call) + 0.1 * static_cast<double>(call.outputs[0].Count());
}
double BackwardCost(const KernelCall& call) {
  return ElementwiseCostNs(call) + 0.2 * static_cast<double>(call.outputs[0].Count());
}

constexpr DenseKernel kForward = {&RunForward, &ForwardCost};
constexpr DenseKernel kBackward = {&RunBackward, &BackwardCost, &BackwardScratch};

}  // namespace

ONEFLOW_REGISTER_DENSE_KERNEL(layer_norm, "layer_norm.cpu.vector", kForward);
ONEFLOW_REGISTER_DENSE_KERNEL(layer_norm_backward, "layer_norm_backward.cpu.vector", kBackward);

}  // namespace cpu
}  // namespace oneflow
