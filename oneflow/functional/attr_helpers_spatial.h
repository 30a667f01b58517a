// What rows of the spatial families (conv, pool, vision) call to fill in their attributes.
//
// Each begins with the op's name, for its error. Thread safety: pure functions.
#ifndef ONEFLOW_FUNCTIONAL_ATTR_HELPERS_SPATIAL_H_
#define ONEFLOW_FUNCTIONAL_ATTR_HELPERS_SPATIAL_H_

#include <string>
#include <vector>

#include "oneflow/common/maybe.h"
#include "oneflow/kernels/attrs_spatial.h"
#include "oneflow/tensor/tensor.h"

namespace oneflow::functional {

inline Dims AttrAsParam(const SpatialList& list) { return list.ToDims(); }
inline std::vector<double> AttrAsParam(const ScaleList& scales) {
  return {scales.values, scales.values + kMaxSpatialDims};
}
std::string AttrAsParam(UpsampleMode mode);
std::string AttrAsParam(GridMode mode);
std::string AttrAsParam(GridPadding padding);

// At most three numbers.
Maybe<SpatialList> SpatialOf(const char* op, const Dims& list);
// As many ones as `list` has numbers.
Maybe<SpatialList> OnesLike(const char* op, const Dims& list);
// The spatial sizes of a shape (N, C, ...).
Maybe<SpatialList> SpatialSizes(const char* op, const Dims& shape);
// The numbers that are there; 0 for the others.
Maybe<ScaleList> ScalesOf(const char* op, const std::vector<double>& scales);
Maybe<UpsampleMode> ParseUpsampleMode(const char* op, const std::string& text);
Maybe<GridMode> ParseGridMode(const char* op, const std::string& text);
Maybe<GridPadding> ParseGridPadding(const char* op, const std::string& text);

}  // namespace oneflow::functional

#endif  // ONEFLOW_FUNCTIONAL_ATTR_HELPERS_SPATIAL_H_
