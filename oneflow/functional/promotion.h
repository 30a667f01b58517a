// CommonType: the dtype in which operands of several dtypes are computed.
//
// Thread safety: functions of values. Nothing blocks.
#ifndef ONEFLOW_FUNCTIONAL_PROMOTION_H_
#define ONEFLOW_FUNCTIONAL_PROMOTION_H_

#include "oneflow/core/dtype.h"
#include "oneflow/tensor/tensor.h"

namespace oneflow {

// 0 for bool, 1 for integers, 2 for floats: what a number of one of them may change a dtype to.
int DtypeCategory(DataType dtype);

// The operands promote by PromoteTypes, but one without dimensions counts as a Python number does:
// beside one with dimensions it matters only if its category is higher, so that a float64 mean
// leaves the float32 batch that it scales at float32. Null operands do not count; at least one is
// REQUIRED.
DataType CommonType(const TensorPtr* tensors, int count);
DataType CommonType(const TensorPtr& a, const TensorPtr& b);

}  // namespace oneflow

#endif  // ONEFLOW_FUNCTIONAL_PROMOTION_H_
