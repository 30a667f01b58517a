// The rows of the families upsample and vision that are written in other ops.
//
// Thread safety: as functional calls.
#ifndef ONEFLOW_FUNCTIONAL_COMPOSITES_VISION_H_
#define ONEFLOW_FUNCTIONAL_COMPOSITES_VISION_H_

#include <optional>
#include <string>

#include "oneflow/common/maybe.h"
#include "oneflow/tensor/tensor.h"

namespace oneflow::functional::composites {

using OptSize = std::optional<Dims>;

// composites_upsample.cc. The sizes of the result, or else the scales, say what is made.
Maybe<TensorPtr> UpsampleNearest1d(const TensorPtr& x, double scale_factor,
                                   const OptSize& output_size, const std::string& data_format);
Maybe<TensorPtr> UpsampleNearest2d(const TensorPtr& x, double height_scale, double width_scale,
                                   const OptSize& output_size, const std::string& data_format);
Maybe<TensorPtr> UpsampleNearest3d(const TensorPtr& x, double depth_scale, double height_scale,
                                   double width_scale, const OptSize& output_size,
                                   const std::string& data_format);
Maybe<TensorPtr> UpsampleLinear1d(const TensorPtr& x, double scale_factor, bool align_corners,
                                  const OptSize& output_size, const std::string& data_format);
Maybe<TensorPtr> UpsampleBilinear2d(const TensorPtr& x, double height_scale, double width_scale,
                                    bool align_corners, const OptSize& output_size,
                                    const std::string& data_format);
Maybe<TensorPtr> UpsampleBicubic2d(const TensorPtr& x, double height_scale, double width_scale,
                                   bool align_corners, const OptSize& output_size,
                                   const std::string& data_format);
Maybe<TensorPtr> UpsampleTrilinear3d(const TensorPtr& x, double depth_scale, double height_scale,
                                     double width_scale, bool align_corners,
                                     const OptSize& output_size, const std::string& data_format);
Maybe<TensorPtr> Upsample(const TensorPtr& x, double height_scale, double width_scale,
                          bool align_corners, const std::string& interpolation,
                          const std::string& data_format);

// composites_vision.cc
Maybe<TensorPtr> RefuseSecondGradient(const TensorPtr& by_input, const TensorPtr& by_grid);
Maybe<TensorPtr> RefuseSecondDeformGradient(const TensorPtr& by_input, const TensorPtr& by_offset,
                                            const TensorPtr& by_mask);
Maybe<TensorPtr> AffineGrid(const TensorPtr& theta, const Dims& size, bool align_corners);
Maybe<TensorPtr> PixelShuffle(const TensorPtr& input, int64_t h_upscale_factor,
                              int64_t w_upscale_factor);
Maybe<TensorPtr> PixelUnshuffle(const TensorPtr& input, int64_t h_downscale_factor,
                                int64_t w_downscale_factor);
Maybe<TensorPtr> NmsByScore(const TensorPtr& boxes, const TensorPtr& scores, double iou_threshold);
Maybe<TensorPtr> DeformConv2d(const TensorPtr& input, const TensorPtr& weight,
                              const TensorPtr& offset, const TensorPtr& mask, const TensorPtr& bias,
                              int64_t stride_h, int64_t stride_w, int64_t pad_h, int64_t pad_w,
                              int64_t dilation_h, int64_t dilation_w, int64_t groups,
                              int64_t offset_groups, bool use_mask);

}  // namespace oneflow::functional::composites

#endif  // ONEFLOW_FUNCTIONAL_COMPOSITES_VISION_H_
