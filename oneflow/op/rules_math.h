// Rules of elementwise ops whose operands differ in dtype. See rules.h.
//
// Thread safety: pure functions.
#ifndef ONEFLOW_OP_RULES_MATH_H_
#define ONEFLOW_OP_RULES_MATH_H_

#include "oneflow/op/op_def.h"

namespace oneflow {

// bool, x, y of one dtype -> all shapes together, x's dtype.
Maybe<void> InferWhere(const InferContext& context, TensorMeta* outputs);
// x, bool -> both shapes together, x's dtype.
Maybe<void> InferMaskedFill(const InferContext& context, TensorMeta* outputs);

}  // namespace oneflow

#endif  // ONEFLOW_OP_RULES_MATH_H_
