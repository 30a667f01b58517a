#include "oneflow/functional/composites_conv.h"

#include <algorithm>

#include "oneflow/core/saturated.h"
#include "oneflow/functional/generated/functional_conv.h"
#include "oneflow/functional/generated/functional_fold.h"
#include "oneflow/functional/generated/functional_reduce.h"
#include "oneflow/functional/spatial_form.h"

namespace oneflow::functional::composites {

namespace {

// Callers rename it to the op that the user called.
constexpr const char* kName = "convolution";

// padding_after = padding, unless given.
Maybe<TensorPtr> Convolve(const TensorPtr& input, const TensorPtr& weight, const TensorPtr& bias,
                          const Dims& stride, const Dims& before, const Dims& after,
                          const Dims& dilation, int64_t groups, const std::string& channel_pos) {
  SpatialForm form = JUST(SpatialForm::Parse(kName, channel_pos));
  const TensorPtr batch = JUST(form.Enter(kName, input, stride.size()));
  const TensorPtr kernel = JUST(form.ChannelsToFront(weight));
  return form.Leave(
      JUST(convolution(batch, kernel, bias, stride, before, after, dilation, groups)));
}

}  // namespace

Maybe<TensorPtr> ConvNd(const TensorPtr& input, const TensorPtr& weight, const TensorPtr& bias,
                        const Dims& stride, const Dims& padding, const Dims& dilation,
                        int64_t groups, const std::string& channel_pos) {
  const int spatial = stride.size();
  if (__builtin_expect(input->ndim() == spatial + 2 && channel_pos == "channels_first", 1)) {
    return convolution(input, weight, bias, stride, padding, padding, dilation, groups);
  }
  return Convolve(input, weight, bias, stride, padding, padding, dilation, groups, channel_pos);
}

Maybe<TensorPtr> ConvNdPaddedBy(const TensorPtr& input, const TensorPtr& weight,
                                const TensorPtr& bias, const Dims& stride,
                                const std::string& padding, const Dims& dilation, int64_t groups,
                                const std::string& channel_pos) {
  const int spatial = stride.size();
  Dims before(spatial, 0);
  Dims after(spatial, 0);
  if (padding == "same") {
    const int first = channel_pos == "channels_last" ? 1 : 2;  // where the kernel's sizes stand
    if (weight->ndim() != spatial + 2) {
      return RuntimeError("[{}] expects weight of {} dimensions, got {}", kName, spatial + 2,
                          weight->shape());
    }
    for (int d = 0; d < spatial; ++d) {
      if (stride[d] != 1) {
        return RuntimeError("[{}] expects stride 1 with padding 'same', got {}; pad by numbers",
                            kName, stride);
      }
      const int64_t total =
          std::max<int64_t>(0, WindowReach(weight->shape()[first + d], dilation[d]) - 1);
      before[d] = total / 2;
      after[d] = total - total / 2;
    }
  } else if (padding != "valid") {
    return ValueError("[{}] expects padding to be numbers, 'same' or 'valid', got '{}'", kName,
                      padding);
  }
  return Convolve(input, weight, bias, stride, before, after, dilation, groups, channel_pos);
}

Maybe<TensorPtr> DeconvNd(const TensorPtr& input, const TensorPtr& weight, const TensorPtr& bias,
                          const Dims& stride, const Dims& padding, const Dims& output_padding,
                          int64_t groups, const Dims& dilation, const std::string& data_format) {
  const int spatial = stride.size();
  SpatialForm form = JUST(SpatialForm::Parse(kName, data_format));
  const TensorPtr batch = JUST(form.Enter(kName, input, spatial));
  const TensorPtr kernel = JUST(form.ChannelsToFront(weight));
  if (kernel->ndim() != spatial + 2) {
    return RuntimeError("[{}] expects weight of {} dimensions, got {}", kName, spatial + 2,
                        weight->shape());
  }
  Dims shape = batch->shape();
  Dims after = padding;
  for (int d = 0; d < spatial; ++d) {
    if (output_padding[d] < 0 || output_padding[d] >= std::max(stride[d], dilation[d])) {
      return RuntimeError("[{}] expects output_padding smaller than stride or dilation, got "
                          "output_padding {}, stride {} and dilation {}",
                          kName, output_padding, stride, dilation);
    }
    const int64_t reach = WindowReach(kernel->shape()[d + 2], dilation[d]);
    shape[d + 2] = Saturated(Wide{batch->shape()[d + 2] - 1} * stride[d] - Wide{2} * padding[d] +
                             reach + output_padding[d]);
    // With this much padding a convolution of the result has exactly the input's size.
    after[d] = Saturated(Wide{padding[d]} - output_padding[d]);
  }
  return form.Leave(JUST(convolution_input_grad(batch, kernel, bias, shape, stride, padding, after,
                                                dilation, groups)));
}

Maybe<TensorPtr> SumPerChannel(const TensorPtr& input) {
  Dims dims{0};
  for (int d = 2; d < input->ndim(); ++d) { dims.PushBack(d); }
  return sum(input, dims, false);
}

namespace {

Maybe<void> CheckChannelsFirst(const char* op, const std::string& data_format) {
  const SpatialForm form = JUST(SpatialForm::Parse(op, data_format));
  if (!form.channels_last()) { return Ok(); }
  return NotImplementedError("[{}] expects data_format channels_first, got channels_last", op);
}

}  // namespace

Maybe<TensorPtr> Unfold(const TensorPtr& x, const Dims& kernel_size, const Dims& dilation,
                        const Dims& padding, const Dims& stride, const std::string& data_format) {
  JUST(CheckChannelsFirst("unfold", data_format));
  SpatialForm form;
  const TensorPtr batch = JUST(form.Enter("unfold", x, 2));
  return form.Leave(JUST(unfold_pixels(batch, kernel_size, dilation, padding, stride)));
}

Maybe<TensorPtr> Fold(const TensorPtr& x, const Dims& output_size, const Dims& kernel_size,
                      const Dims& dilation, const Dims& padding, const Dims& stride,
                      const std::string& data_format) {
  JUST(CheckChannelsFirst("fold", data_format));
  SpatialForm form;
  const TensorPtr batch = JUST(form.Enter("fold", x, 1));
  const Dims shape{0, 0, output_size[0], output_size[1]};
  return form.Leave(JUST(fold_pixels(batch, shape, kernel_size, dilation, padding, stride)));
}

}  // namespace oneflow::functional::composites
