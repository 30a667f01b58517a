// Attribute structs of the ops that slide windows over spatial dimensions: convolution, pooling,
// unfolding, resampling. Lists have one entry for each spatial dimension, outermost first.
//
// Thread safety: plain values.
#ifndef ONEFLOW_KERNELS_ATTRS_SPATIAL_H_
#define ONEFLOW_KERNELS_ATTRS_SPATIAL_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "oneflow/core/dims.h"
#include "oneflow/kernels/attr_types.h"

namespace oneflow {

inline constexpr int kMaxSpatialDims = 3;
// Channels that lie side by side in a blocked array (N, C / 16, H, W, 16), which passes over graphs make.
inline constexpr int64_t kChannelBlock = 16;
// Elements of a window of a pool over blocks: their numbers are bytes.
inline constexpr int64_t kMostPooled = 256;

struct SpatialList {
  int32_t count = 0;
  int64_t values[kMaxSpatialDims] = {};

  SpatialList() = default;
  // REQUIRES at most kMaxSpatialDims entries.
  explicit SpatialList(const Dims& dims) : count(dims.size()) {
    std::memcpy(values, dims.data(), sizeof(int64_t) * static_cast<size_t>(dims.size()));
  }
  Dims ToDims() const { return Dims(values, count); }
  int64_t operator[](int i) const { return values[i]; }
};

// convolution and its two gradients. `padding` goes before the data, `padding_after` behind it (the
// kernels need only the former; shapes say the rest). `size`: spatial sizes of the result of the
// gradient by input, kernel sizes of the gradient by weight. `float_weight`: the gradient by the weight of blocked bfloat16
// is float32.
struct ConvAttrs {
  SpatialList stride;
  SpatialList padding;
  SpatialList padding_after;
  SpatialList dilation;
  int64_t groups = 1;
  SpatialList size;
  bool float_weight = false;
  bool blocked = false;  // the gradient by weight comes as (O / 16, C / 16, ..., 16 of C, 16 of O)
};

// max_pool, avg_pool and their gradients. `size`: spatial sizes of the gradient's result.
struct PoolAttrs {
  SpatialList kernel;
  SpatialList stride;
  SpatialList padding;
  SpatialList dilation;
  bool ceil_mode = false;
  bool count_include_pad = true;
  int64_t divisor_override = 0;  // 0: none
  SpatialList size;
};

// What gives its result these spatial sizes: adaptive pools, gradients that scatter.
struct SpatialSizeAttrs {
  SpatialList size;
};

// unfold and fold over two spatial dimensions. `size`: what fold makes.
struct UnfoldAttrs {
  SpatialList kernel;
  SpatialList dilation;
  SpatialList padding;
  SpatialList stride;
  SpatialList size;
};

// Result over input for each spatial dimension, as the user gave it; 0 where the sizes say it.
struct ScaleList {
  double values[kMaxSpatialDims] = {};
};

enum class UpsampleMode : int32_t { kNearest, kLinear, kCubic };

// resample and its gradient. `size`: spatial sizes of the result.
struct UpsampleAttrs {
  UpsampleMode mode = UpsampleMode::kNearest;
  bool align_corners = false;
  ScaleList scales;
  SpatialList size;
};

enum class GridMode : int32_t { kBilinear, kNearest, kBicubic };
enum class GridPadding : int32_t { kZeros, kBorder, kReflection };

struct GridSampleAttrs {
  GridMode mode = GridMode::kBilinear;
  GridPadding padding = GridPadding::kZeros;
  bool align_corners = false;
};

// The coordinates of affine_grid before the transformation: (N, [D,] H, W).
struct AffineBaseGridAttrs {
  IntList size;
  bool align_corners = false;
};

// shuffle_pixels and unshuffle_pixels: sizes of a block.
struct ShuffleAttrs {
  int64_t h = 1;
  int64_t w = 1;
};

struct RoiAlignAttrs {
  double spatial_scale = 1.0;
  int64_t pooled_h = 1;
  int64_t pooled_w = 1;
  int64_t sampling_ratio = -1;  // at most 0: as many as a bin has pixels
  bool aligned = false;
  IntList shape;  // of the gradient's result
};

struct NmsAttrs {
  double iou_threshold = 0.5;
  int64_t keep_n = -1;
};

// Columns of a deformable convolution, (N, C * kh * kw, oh * ow).
struct DeformAttrs {
  SpatialList kernel;
  SpatialList stride;
  SpatialList padding;
  SpatialList dilation;
  int64_t offset_groups = 1;
};

static_assert(std::is_trivially_copyable_v<ConvAttrs> && std::is_trivially_copyable_v<PoolAttrs> &&
                  std::is_trivially_copyable_v<SpatialSizeAttrs> &&
                  std::is_trivially_copyable_v<UnfoldAttrs> &&
                  std::is_trivially_copyable_v<UpsampleAttrs> &&
                  std::is_trivially_copyable_v<GridSampleAttrs> &&
                  std::is_trivially_copyable_v<AffineBaseGridAttrs> &&
                  std::is_trivially_copyable_v<ShuffleAttrs> &&
                  std::is_trivially_copyable_v<RoiAlignAttrs> &&
                  std::is_trivially_copyable_v<NmsAttrs> &&
                  std::is_trivially_copyable_v<DeformAttrs>,
              "an instruction copies attributes by memcpy");

}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_ATTRS_SPATIAL_H_
