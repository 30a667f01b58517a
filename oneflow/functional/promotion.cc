#include "oneflow/functional/promotion.h"

#include <optional>

namespace oneflow {

int DtypeCategory(DataType dtype) { return IsBool(dtype) ? 0 : (IsIntegral(dtype) ? 1 : 2); }

DataType CommonType(const TensorPtr* tensors, int count) {
  std::optional<DataType> with_dims;
  std::optional<DataType> without;
  for (int i = 0; i < count; ++i) {
    if (tensors[i] == nullptr) { continue; }
    std::optional<DataType>& kind = tensors[i]->ndim() == 0 ? without : with_dims;
    kind = kind.has_value() ? PromoteTypes(*kind, tensors[i]->dtype()) : tensors[i]->dtype();
  }
  if (!with_dims.has_value()) { return *without; }
  if (!without.has_value() || DtypeCategory(*without) <= DtypeCategory(*with_dims)) {
    return *with_dims;
  }
  return *without;
}

DataType CommonType(const TensorPtr& a, const TensorPtr& b) {
  if (a->dtype() == b->dtype()) { return a->dtype(); }
  const TensorPtr both[] = {a, b};
  return CommonType(both, 2);
}

}  // namespace oneflow
