#include <cmath>
#include <vector>

#include "oneflow/functional/composites_vision.h"
#include "oneflow/functional/generated/functional_upsample.h"
#include "oneflow/functional/spatial_form.h"

namespace oneflow::functional::composites {

namespace {

// Callers rename it to the op that the user called.
constexpr const char* kName = "upsample";

struct Upsampling {
  const char* mode;
  bool align_corners;
  std::vector<double> scales;  // one for each spatial dimension; what sizes make superfluous is 0
};

// Spatial sizes of the result; clears scales that the sizes replace.
Maybe<Dims> ResultShape(const Dims& input, const OptSize& output_size, Upsampling* how) {
  const int spatial = static_cast<int>(how->scales.size());
  Dims shape = input;
  if (output_size.has_value()) {
    if (output_size->size() != spatial) {
      return RuntimeError("[{}] expects output_size of {} numbers, got {} for input {}", kName,
                          spatial, *output_size, input);
    }
    for (int d = 0; d < spatial; ++d) { shape[d + 2] = (*output_size)[d]; }
    how->scales.assign(how->scales.size(), 0.0);
    return shape;
  }
  for (int d = 0; d < spatial; ++d) {
    const double scale = how->scales[static_cast<size_t>(d)];
    const double size = std::floor(static_cast<double>(input[d + 2]) * scale);
    if (!(size >= 1 && size < 1e15)) {
      return RuntimeError("[{}] expects output_size, or scales that give sizes of at least 1, got "
                          "scale {} in spatial dimension {} of input {}",
                          kName, scale, d, input);
    }
    shape[d + 2] = static_cast<int64_t>(size);
  }
  return shape;
}

Maybe<TensorPtr> Make(const TensorPtr& x, Upsampling how, const OptSize& output_size,
                      const std::string& data_format) {
  SpatialForm form = JUST(SpatialForm::Parse(kName, data_format));
  const int spatial = static_cast<int>(how.scales.size());
  if (x->ndim() != spatial + 2) {
    return RuntimeError("[{}] expects x of {} dimensions (N, C, and {} spatial), got {}", kName,
                        spatial + 2, spatial, x->shape());
  }
  const TensorPtr batch = JUST(form.Enter(kName, x, spatial));
  const Dims shape = JUST(ResultShape(batch->shape(), output_size, &how));
  return form.Leave(JUST(resample(batch, shape, how.scales, how.mode, how.align_corners)));
}

}  // namespace

Maybe<TensorPtr> UpsampleNearest1d(const TensorPtr& x, double scale_factor,
                                   const OptSize& output_size, const std::string& data_format) {
  return Make(x, {"nearest", false, {scale_factor}}, output_size, data_format);
}

Maybe<TensorPtr> UpsampleNearest2d(const TensorPtr& x, double height_scale, double width_scale,
                                   const OptSize& output_size, const std::string& data_format) {
  return Make(x, {"nearest", false, {height_scale, width_scale}}, output_size, data_format);
}

Maybe<TensorPtr> UpsampleNearest3d(const TensorPtr& x, double depth_scale, double height_scale,
                                   double width_scale, const OptSize& output_size,
                                   const std::string& data_format) {
  return Make(x, {"nearest", false, {depth_scale, height_scale, width_scale}}, output_size,
              data_format);
}

Maybe<TensorPtr> UpsampleLinear1d(const TensorPtr& x, double scale_factor, bool align_corners,
                                  const OptSize& output_size, const std::string& data_format) {
  return Make(x, {"linear", align_corners, {scale_factor}}, output_size, data_format);
}

Maybe<TensorPtr> UpsampleBilinear2d(const TensorPtr& x, double height_scale, double width_scale,
                                    bool align_corners, const OptSize& output_size,
                                    const std::string& data_format) {
  return Make(x, {"linear", align_corners, {height_scale, width_scale}}, output_size, data_format);
}

Maybe<TensorPtr> UpsampleBicubic2d(const TensorPtr& x, double height_scale, double width_scale,
                                   bool align_corners, const OptSize& output_size,
                                   const std::string& data_format) {
  return Make(x, {"cubic", align_corners, {height_scale, width_scale}}, output_size, data_format);
}

Maybe<TensorPtr> UpsampleTrilinear3d(const TensorPtr& x, double depth_scale, double height_scale,
                                     double width_scale, bool align_corners,
                                     const OptSize& output_size, const std::string& data_format) {
  return Make(x, {"linear", align_corners, {depth_scale, height_scale, width_scale}}, output_size,
              data_format);
}

Maybe<TensorPtr> Upsample(const TensorPtr& x, double height_scale, double width_scale,
                          bool align_corners, const std::string& interpolation,
                          const std::string& data_format) {
  const char* mode = interpolation == "nearest"    ? "nearest"
                     : interpolation == "bilinear" ? "linear"
                     : interpolation == "bicubic"  ? "cubic"
                                                   : nullptr;
  if (mode == nullptr) {
    return ValueError("[{}] expects interpolation to be nearest, bilinear or bicubic, got '{}'",
                      kName, interpolation);
  }
  const bool aligned = align_corners && interpolation != "nearest";
  return Make(x, {mode, aligned, {height_scale, width_scale}}, std::nullopt, data_format);
}

}  // namespace oneflow::functional::composites
