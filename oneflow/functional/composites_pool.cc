#include "oneflow/functional/composites_pool.h"

#include "oneflow/autograd/grad_mode.h"
#include "oneflow/core/saturated.h"
#include "oneflow/functional/generated/functional_pool.h"
#include "oneflow/functional/spatial_form.h"

namespace oneflow::functional::composites {

namespace {

// Callers rename it to the op that the user called.
constexpr const char* kName = "pool";

// (N, C, size...), of which ops look at the spatial sizes only.
Dims WithSpatialSizes(const Dims& size) {
  Dims shape{0, 0};
  for (int64_t s : size) { shape.PushBack(s); }
  return shape;
}

// What the user wants max_unpool to make: spatial sizes, or a whole shape; by default what the
// pooling's input most likely was.
Maybe<Dims> UnpooledSize(const Dims& pooled, const Dims& kernel, const Dims& stride,
                         const Dims& padding, const std::optional<Dims>& output_size) {
  const int spatial = kernel.size();
  Dims likely(spatial, 0);
  for (int d = 0; d < spatial; ++d) {
    likely[d] = Saturated(Wide{pooled[d + 2] - 1} * stride[d] + kernel[d] - Wide{2} * padding[d]);
  }
  if (!output_size.has_value() || output_size->empty()) { return likely; }
  if (output_size->size() < spatial || output_size->size() > spatial + 2) {
    return ValueError("[{}] expects output_size of {} numbers, or a whole shape, got {}", kName,
                      spatial, *output_size);
  }
  const Dims size(output_size->data() + output_size->size() - spatial, spatial);
  for (int d = 0; d < spatial; ++d) {
    const Wide off = Wide{size[d]} - likely[d];
    if (off <= -Wide{stride[d]} || off >= stride[d]) {
      return ValueError("[{}] expects output_size less than a stride away from {}, got {} with "
                        "stride {}",
                        kName, likely, size, stride);
    }
  }
  return size;
}

}  // namespace

Maybe<TensorTuple> MaxPoolNd(const TensorPtr& input, const Dims& kernel_size,
                             const std::optional<Dims>& stride, const Dims& padding,
                             const Dims& dilation, bool /*return_indices*/, bool ceil_mode,
                             const std::string& data_format) {
  SpatialForm form = JUST(SpatialForm::Parse(kName, data_format));
  const TensorPtr batch = JUST(form.Enter(kName, input, kernel_size.size()));
  const TensorTuple both = JUST(
      max_pool(batch, kernel_size, stride.value_or(kernel_size), padding, dilation, ceil_mode));
  return TensorTuple{JUST(form.Leave(both[0])), JUST(form.Leave(both[1]))};
}

Maybe<TensorPtr> AvgPoolNd(const TensorPtr& input, const Dims& kernel_size,
                           const std::optional<Dims>& stride, const Dims& padding, bool ceil_mode,
                           bool count_include_pad, int64_t divisor_override,
                           const std::string& data_format) {
  SpatialForm form = JUST(SpatialForm::Parse(kName, data_format));
  const TensorPtr batch = JUST(form.Enter(kName, input, kernel_size.size()));
  return form.Leave(JUST(avg_pool(batch, kernel_size, stride.value_or(kernel_size), padding,
                                  ceil_mode, count_include_pad, divisor_override)));
}

Maybe<TensorPtr> DependingOn(const TensorPtr& input, const TensorPtr& other) {
  if (!GradModeEnabled() || !other->requires_grad()) { return input; }
  return depend_on(input, other);
}

Maybe<TensorPtr> AdaptiveAvgPoolNd(const TensorPtr& x, const Dims& output_size) {
  SpatialForm form;
  const TensorPtr batch = JUST(form.Enter(kName, x, output_size.size()));
  return form.Leave(JUST(adaptive_avg_pool(batch, WithSpatialSizes(output_size))));
}

Maybe<TensorTuple> AdaptiveMaxPoolNd(const TensorPtr& input, const Dims& output_size) {
  SpatialForm form;
  const TensorPtr batch = JUST(form.Enter(kName, input, output_size.size()));
  const TensorTuple both = JUST(adaptive_max_pool(batch, WithSpatialSizes(output_size)));
  return TensorTuple{JUST(form.Leave(both[0])), JUST(form.Leave(both[1]))};
}

Maybe<TensorPtr> MaxUnpoolNd(const TensorPtr& input, const TensorPtr& indices,
                             const Dims& kernel_size, const std::optional<Dims>& stride,
                             const Dims& padding, const std::optional<Dims>& output_size) {
  SpatialForm form;
  SpatialForm same_form;
  const TensorPtr where = JUST(same_form.Enter(kName, indices, kernel_size.size()));
  const TensorPtr batch = JUST(form.Enter(kName, input, kernel_size.size()));
  const Dims size = JUST(UnpooledSize(batch->shape(), kernel_size, stride.value_or(kernel_size),
                                      padding, output_size));
  return form.Leave(JUST(unpool_pixels(batch, where, WithSpatialSizes(size))));
}

}  // namespace oneflow::functional::composites
