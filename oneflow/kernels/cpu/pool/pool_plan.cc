#include "oneflow/kernels/cpu/pool/pool_plan.h"

#include <algorithm>

namespace oneflow {
namespace cpu {

namespace {

PoolPlan EmptyPlan(const ArrayView& image, const ArrayView& pooled) {
  PoolPlan plan;
  plan.planes = image.shape[0] * image.shape[1];
  const int lead = 3 - (image.ndim - 2);
  for (int d = lead; d < 3; ++d) {
    plan.axes[d].in = image.shape[d - lead + 2];
    plan.axes[d].out = pooled.shape[d - lead + 2];
  }
  for (int d = 0; d < lead; ++d) { plan.axes[d].ranges = {{0, 1, 1.0}}; }
  return plan;
}

// A window that begins at `start`, perhaps before the data. An average divides by what it covers of
// the data and, if that counts, of the padding, but not by what lies behind the padding.
PoolRange RangeAt(int64_t start, int64_t kernel, int64_t step, int64_t in, int64_t padding,
                  bool count_padding) {
  const int64_t first = start < 0 ? (-start + step - 1) / step : 0;
  const int64_t last =
      start >= in ? first : std::clamp<int64_t>((in - start + step - 1) / step, first, kernel);
  const int64_t padded_end = std::min(start + kernel, in + padding);
  const int64_t counted = count_padding ? padded_end - start : last - first;
  return {start + first * step, last - first, static_cast<double>(counted)};
}

}  // namespace

PoolPlan FixedPlan(const PoolAttrs& attrs, const ArrayView& image, const ArrayView& pooled) {
  PoolPlan plan = EmptyPlan(image, pooled);
  plan.divisor = static_cast<double>(attrs.divisor_override);
  const int lead = 3 - attrs.kernel.count;
  for (int d = lead; d < 3; ++d) {
    PoolAxis& axis = plan.axes[d];
    const int s = d - lead;
    axis.step = attrs.kernel[s] == 1 ? 1 : attrs.dilation[s];  // a lone element has no next one
    axis.ranges.reserve(static_cast<size_t>(axis.out));
    for (int64_t o = 0; o < axis.out; ++o) {
      axis.ranges.push_back(RangeAt(o * attrs.stride[s] - attrs.padding[s], attrs.kernel[s],
                                    axis.step, axis.in, attrs.padding[s], attrs.count_include_pad));
    }
  }
  const int last = attrs.kernel.count - 1;
  const PoolAxis& axis = plan.axes[2];
  plan.fixed = true;
  plan.line = {axis.out, attrs.kernel[last], attrs.stride[last], attrs.dilation[last]};
  plan.before = attrs.padding[last];
  const int64_t reach =
      (axis.out - 1) * plan.line.stride + (plan.line.kernel - 1) * plan.line.dilation + 1;
  plan.after = std::max<int64_t>(0, reach - plan.before - axis.in);
  return plan;
}

PoolPlan AdaptivePlan(const ArrayView& image, const ArrayView& pooled) {
  PoolPlan plan = EmptyPlan(image, pooled);
  for (int d = 3 - (image.ndim - 2); d < 3; ++d) {
    PoolAxis& axis = plan.axes[d];
    axis.ranges.reserve(static_cast<size_t>(axis.out));
    for (int64_t o = 0; o < axis.out; ++o) {
      const int64_t begin = o * axis.in / axis.out;
      const int64_t end = ((o + 1) * axis.in + axis.out - 1) / axis.out;
      axis.ranges.push_back({begin, end - begin, static_cast<double>(end - begin)});
    }
  }
  // Windows that do not overlap and are of one size are fixed ones.
  const PoolAxis& last = plan.axes[2];
  plan.fixed = last.out > 1 && last.in % last.out == 0;
  if (plan.fixed) { plan.line = {last.out, last.in / last.out, last.in / last.out, 1}; }
  return plan;
}

}  // namespace cpu
}  // namespace oneflow
