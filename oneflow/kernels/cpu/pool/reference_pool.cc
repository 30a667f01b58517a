// The reference kernels of pooling: every window element by element, in double.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "oneflow/kernels/attrs_spatial.h"
#include "oneflow/kernels/cpu/reference.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

using reference::ForEachIndex;
using reference::Load;
using reference::OffsetOf;
using reference::ShapeOf;
using reference::Store;
using reference::Value;

// One window: for each spatial dimension the first element, perhaps outside, and how many follow.
struct Window {
  int64_t begin[kMaxSpatialDims];
  int64_t count[kMaxSpatialDims];
  int64_t step[kMaxSpatialDims];
  double padded = 1;  // elements, padding included
};

Window FixedWindow(const PoolAttrs& attrs, const ArrayView& image, const Dims& at) {
  Window w;
  for (int d = 0; d < attrs.kernel.count; ++d) {
    w.begin[d] = at[d + 2] * attrs.stride[d] - attrs.padding[d];
    w.count[d] = attrs.kernel[d];
    w.step[d] = attrs.dilation[d];
    const int64_t end = std::min(w.begin[d] + w.count[d], image.shape[d + 2] + attrs.padding[d]);
    w.padded *= static_cast<double>(end - w.begin[d]);
  }
  return w;
}

Window AdaptiveWindow(const ArrayView& image, const ArrayView& pooled, const Dims& at) {
  Window w;
  for (int d = 0; d + 2 < image.ndim; ++d) {
    const auto ratio =
        static_cast<double>(image.shape[d + 2]) / static_cast<double>(pooled.shape[d + 2]);
    w.begin[d] = at[d + 2] * image.shape[d + 2] / pooled.shape[d + 2];
    const double end = std::ceil(static_cast<double>(at[d + 2] + 1) * ratio - 1e-9);
    w.count[d] = static_cast<int64_t>(end) - w.begin[d];
    w.step[d] = 1;
    w.padded *= static_cast<double>(w.count[d]);
  }
  return w;
}

// Calls body(index of the element in the image) for the elements that are inside.
template <typename Body>
void ForEachElement(const Window& w, const ArrayView& image, const Dims& at, const Body& body) {
  ForEachIndex(Dims(w.count, image.ndim - 2), [&](const Dims& i) {
    Dims element = at;
    for (int d = 0; d < i.size(); ++d) {
      element[d + 2] = w.begin[d] + i[d] * w.step[d];
      if (element[d + 2] < 0 || element[d + 2] >= image.shape[d + 2]) { return; }
    }
    body(element);
  });
}

template <bool kAdaptive>
Window WindowAt(const KernelCall& call, const ArrayView& image, const ArrayView& pooled,
                const Dims& at) {
  if constexpr (kAdaptive) {
    return AdaptiveWindow(image, pooled, at);
  } else {
    return FixedWindow(call.GetAttrs<PoolAttrs>(), image, at);
  }
}

template <bool kAdaptive>
Maybe<void> RunMax(const KernelCall& call) {
  const ArrayView& image = call.inputs[0];
  const ArrayView& out = call.outputs[0];
  ForEachIndex(ShapeOf(out), [&](const Dims& at) {
    double best = -std::numeric_limits<double>::infinity();
    int64_t where = -1;
    ForEachElement(WindowAt<kAdaptive>(call, image, out, at), image, at, [&](const Dims& element) {
      const double value = Load(image, OffsetOf(image, element)).AsDouble();
      if (where >= 0 && !(value > best) && !std::isnan(value)) { return; }
      best = value;
      where = 0;
      for (int d = 2; d < image.ndim; ++d) { where = where * image.shape[d] + element[d]; }
    });
    Store(out, OffsetOf(out, at), Value::Float(best));
    Store(call.outputs[1], OffsetOf(call.outputs[1], at), Value::Int(std::max<int64_t>(where, 0)));
  });
  return Ok();
}

template <bool kAdaptive>
double DivisorOf(const KernelCall& call, const Window& w, int64_t inside) {
  if constexpr (!kAdaptive) {
    const auto& attrs = call.GetAttrs<PoolAttrs>();
    if (attrs.divisor_override != 0) { return static_cast<double>(attrs.divisor_override); }
    if (attrs.count_include_pad) { return w.padded; }
  }
  return static_cast<double>(inside);
}

// Averages, or the shares of the gradient of averages.
template <bool kAdaptive, bool kGradient>
Maybe<void> RunAverage(const KernelCall& call) {
  const ArrayView& image = kGradient ? call.outputs[0] : call.inputs[0];
  const ArrayView& pooled = kGradient ? call.inputs[0] : call.outputs[0];
  std::vector<double> shares(kGradient ? static_cast<size_t>(image.Count()) : 0, 0.0);
  ForEachIndex(ShapeOf(pooled), [&](const Dims& at) {
    const Window w = WindowAt<kAdaptive>(call, image, pooled, at);
    double sum = 0;
    int64_t inside = 0;
    ForEachElement(w, image, at, [&](const Dims& element) {
      ++inside;
      if (!kGradient) { sum += Load(image, OffsetOf(image, element)).AsDouble(); }
    });
    const double divisor = DivisorOf<kAdaptive>(call, w, inside);
    if (!kGradient) {
      Store(pooled, OffsetOf(pooled, at), Value::Float(sum / divisor));
      return;
    }
    const double share = Load(pooled, OffsetOf(pooled, at)).AsDouble() / divisor;
    ForEachElement(w, image, at, [&](const Dims& element) {
      shares[static_cast<size_t>(OffsetOf(image, element))] += share;
    });
  });
  for (size_t i = 0; i < shares.size(); ++i) {
    Store(image, static_cast<int64_t>(i), Value::Float(shares[i]));
  }
  return Ok();
}

const char* Accept(const KernelCall& call) {
  return call.outputs[0].contiguous ? nullptr : "output is not dense";
}

double Cost(const KernelCall& call) {
  return 200.0 * static_cast<double>(call.inputs[0].Count() + call.outputs[0].Count());
}

}  // namespace

#define ONEFLOW_REGISTER_REFERENCE_POOL(id, run) \
  ONEFLOW_REGISTER_KERNEL(id, {#id ".cpu.reference", &run, &Accept, &Cost})

ONEFLOW_REGISTER_REFERENCE_POOL(max_pool, RunMax<false>);
ONEFLOW_REGISTER_REFERENCE_POOL(adaptive_max_pool, RunMax<true>);
ONEFLOW_REGISTER_KERNEL(avg_pool,
                        {"avg_pool.cpu.reference", &RunAverage<false, false>, &Accept, &Cost});
ONEFLOW_REGISTER_KERNEL(avg_pool_grad,
                        {"avg_pool_grad.cpu.reference", &RunAverage<false, true>, &Accept, &Cost});
ONEFLOW_REGISTER_KERNEL(adaptive_avg_pool, {"adaptive_avg_pool.cpu.reference",
                                            &RunAverage<true, false>, &Accept, &Cost});
ONEFLOW_REGISTER_KERNEL(adaptive_avg_pool_grad, {"adaptive_avg_pool_grad.cpu.reference",
                                                 &RunAverage<true, true>, &Accept, &Cost});

}  // namespace cpu
}  // namespace oneflow
