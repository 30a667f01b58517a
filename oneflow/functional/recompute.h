// Gradients of an op whose fast backward kernel has no derivative of its own: when they are asked for
// with a graph (second derivatives), the op is run again in ops that do.
//
// Thread safety and blocking: as functional calls.
#ifndef ONEFLOW_FUNCTIONAL_RECOMPUTE_H_
#define ONEFLOW_FUNCTIONAL_RECOMPUTE_H_

#include <functional>

#include "oneflow/common/maybe.h"
#include "oneflow/tensor/tensor.h"

namespace oneflow::functional {

// The gradients of f's results for its inputs, as ops of the tape; nullptr where an input is not
// given, needs no gradient, or has no influence. `dys[i]` may be nullptr.
Maybe<TensorTuple> RecomputedGradients(
    const std::function<Maybe<TensorTuple>(const TensorTuple&)>& f, const TensorTuple& inputs,
    const TensorTuple& dys);

}  // namespace oneflow::functional

#endif  // ONEFLOW_FUNCTIONAL_RECOMPUTE_H_
