// The rules of the ops over lists of parameters and gradients. See op_def.h for what an InferFn promises.
//
// Thread safety: pure functions.
#ifndef ONEFLOW_OP_RULES_OPTIM_H_
#define ONEFLOW_OP_RULES_OPTIM_H_

#include "oneflow/op/op_def.h"

namespace oneflow {

// Lists of one length, one after the other: parameters, their states, their gradients. All that belongs
// to one parameter has its shape and its floating dtype. Then, if there are numbers, these. ListUpdateAttrs.
Maybe<void> InferListUpdate(const InferContext& context, TensorMeta* outputs);
// Any floating tensors, changed in place.
Maybe<void> InferListInPlace(const InferContext& context, TensorMeta* outputs);
// The same, and behind them a list of one scalar tensor, the norm.
Maybe<void> InferListClip(const InferContext& context, TensorMeta* outputs);
// Any floating tensors -> a scalar of the widest of their dtypes.
Maybe<void> InferListNorm(const InferContext& context, TensorMeta* outputs);

}  // namespace oneflow

#endif  // ONEFLOW_OP_RULES_OPTIM_H_
