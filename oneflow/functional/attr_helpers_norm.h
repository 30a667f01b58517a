// Helpers of rows, beside attr_helpers.h.
//
// Thread safety: pure functions.
#ifndef ONEFLOW_FUNCTIONAL_ATTR_HELPERS_NORM_H_
#define ONEFLOW_FUNCTIONAL_ATTR_HELPERS_NORM_H_

#include <cstdint>
#include <optional>

#include "oneflow/common/maybe.h"
#include "oneflow/tensor/tensor.h"

namespace oneflow::functional {

// Wrapped; where none is given, 0 for tensors of 0, 1 or 3 dims, else 1.
Maybe<int64_t> SoftmaxDim(const char* op, const TensorPtr& x, std::optional<int64_t> dim);

}  // namespace oneflow::functional

#endif  // ONEFLOW_FUNCTIONAL_ATTR_HELPERS_NORM_H_
