// Checks that several rules share. Each gives an error that begins with the op's name.
//
// Thread safety: pure functions.
#ifndef ONEFLOW_OP_RULES_UTIL_H_
#define ONEFLOW_OP_RULES_UTIL_H_

#include "oneflow/op/op_def.h"

namespace oneflow {

// RuntimeError unless input `i` is of a floating dtype.
Maybe<void> CheckFloating(const InferContext& context, int i);
// RuntimeError unless all given inputs have the dtype of input 0.
Maybe<void> CheckSameDtype(const InferContext& context);
// RuntimeError unless input `i` has this shape.
Maybe<void> CheckShape(const InferContext& context, int i, const Shape& expected);

}  // namespace oneflow

#endif  // ONEFLOW_OP_RULES_UTIL_H_
