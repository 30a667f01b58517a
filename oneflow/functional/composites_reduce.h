// The rows of reductions that are written in other ops, and gradients; see composites.h.
//
// Thread safety: as functional calls.
#ifndef ONEFLOW_FUNCTIONAL_COMPOSITES_REDUCE_H_
#define ONEFLOW_FUNCTIONAL_COMPOSITES_REDUCE_H_

#include <optional>

#include "oneflow/functional/composites.h"

namespace oneflow::functional::composites {

// Gradients. `dims`: those that were reduced, in [0, ndim); none means all.
Maybe<TensorPtr> NansumBackward(const TensorPtr& dy, const TensorPtr& input, const Dims& dims,
                                bool keepdim);
// Equal elements share the gradient.
Maybe<TensorPtr> ExtremeBackward(const TensorPtr& dy, const TensorPtr& input, const TensorPtr& out,
                                 const Dims& dims, bool keepdim);
Maybe<TensorPtr> VarBackward(const TensorPtr& dy, const TensorPtr& input, const Dims& dims,
                             bool keepdim, double correction);
Maybe<TensorPtr> StdBackward(const TensorPtr& dy, const TensorPtr& input, const TensorPtr& out,
                             const Dims& dims, bool keepdim, double correction);
Maybe<TensorPtr> LogsumexpBackward(const TensorPtr& dy, const TensorPtr& input,
                                   const TensorPtr& out, const Dims& dims, bool keepdim);

Maybe<TensorPtr> ReduceSumLike(const TensorPtr& input, const TensorPtr& like, const Dims& axis);

}  // namespace oneflow::functional::composites

#endif  // ONEFLOW_FUNCTIONAL_COMPOSITES_REDUCE_H_
