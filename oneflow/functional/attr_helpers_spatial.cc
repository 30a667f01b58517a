#include "oneflow/functional/attr_helpers_spatial.h"

#include <cstddef>

namespace oneflow::functional {

namespace {

// In the order of the enums.
constexpr const char* kUpsampleModes[] = {"nearest", "linear", "cubic"};
constexpr const char* kGridModes[] = {"bilinear", "nearest", "bicubic"};
constexpr const char* kGridPaddings[] = {"zeros", "border", "reflection"};

template <typename Enum, size_t kCount>
Maybe<Enum> Parse(const char* op, const char* what, const char* const (&names)[kCount],
                  const std::string& text) {
  for (size_t i = 0; i < kCount; ++i) {
    if (text == names[i]) { return static_cast<Enum>(i); }
  }
  std::string known = names[0];
  for (size_t i = 1; i < kCount; ++i) { known += std::string(", ") + names[i]; }
  return ValueError("[{}] expects {} to be one of {}, got '{}'", op, what, known, text);
}

}  // namespace

std::string AttrAsParam(UpsampleMode mode) { return kUpsampleModes[static_cast<int>(mode)]; }
std::string AttrAsParam(GridMode mode) { return kGridModes[static_cast<int>(mode)]; }
std::string AttrAsParam(GridPadding padding) { return kGridPaddings[static_cast<int>(padding)]; }

Maybe<SpatialList> SpatialOf(const char* op, const Dims& list) {
  if (list.size() > kMaxSpatialDims) {
    return RuntimeError("[{}] expects at most {} numbers, one for each spatial dimension, got {}",
                        op, kMaxSpatialDims, list);
  }
  return SpatialList(list);
}

Maybe<SpatialList> OnesLike(const char* op, const Dims& list) {
  return SpatialOf(op, Dims(list.size(), 1));
}

Maybe<SpatialList> SpatialSizes(const char* op, const Dims& shape) {
  if (shape.size() < 2 || shape.size() - 2 > kMaxSpatialDims) {
    return RuntimeError("[{}] expects a shape (N, C, ...) of 1 to {} spatial dimensions, got {}",
                        op, kMaxSpatialDims, shape);
  }
  return SpatialList(Dims(shape.data() + 2, shape.size() - 2));
}

Maybe<ScaleList> ScalesOf(const char* op, const std::vector<double>& scales) {
  ScaleList list;
  if (scales.size() > static_cast<size_t>(kMaxSpatialDims)) {
    return RuntimeError("[{}] expects at most {} scales, got {}", op, kMaxSpatialDims,
                        scales.size());
  }
  for (size_t i = 0; i < scales.size(); ++i) { list.values[i] = scales[i]; }
  return list;
}

Maybe<UpsampleMode> ParseUpsampleMode(const char* op, const std::string& text) {
  return Parse<UpsampleMode>(op, "interpolation", kUpsampleModes, text);
}

Maybe<GridMode> ParseGridMode(const char* op, const std::string& text) {
  return Parse<GridMode>(op, "interpolation_mode", kGridModes, text);
}

Maybe<GridPadding> ParseGridPadding(const char* op, const std::string& text) {
  return Parse<GridPadding>(op, "padding_mode", kGridPaddings, text);
}

}  // namespace oneflow::functional
