#include "oneflow/functional/attr_helpers_norm.h"

#include "oneflow/core/shape.h"

namespace oneflow::functional {

Maybe<int64_t> SoftmaxDim(const char* op, const TensorPtr& x, std::optional<int64_t> dim) {
  const int ndim = x->ndim();
  const int64_t given = dim.value_or(ndim == 0 || ndim == 1 || ndim == 3 ? 0 : 1);
  return static_cast<int64_t>(JUST(WrapDim(op, given, ndim)));
}

}  // namespace oneflow::functional
