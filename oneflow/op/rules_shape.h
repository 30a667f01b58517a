// The rules of the ops that join, cut, pad and spread (kernels/attrs_shape.h), and of those that draw
// (kernels/attrs_random.h). See rules.h.
//
// Thread safety: pure functions.
#ifndef ONEFLOW_OP_RULES_SHAPE_H_
#define ONEFLOW_OP_RULES_SHAPE_H_

#include "oneflow/op/op_def.h"

namespace oneflow {

// CatAttrs. Inputs equal in all dims but `dim`; those of shape (0,) join nothing.
Maybe<void> InferCat(const InferContext& context, TensorMeta* outputs);
// CatAttrs. Inputs of one shape; `dim` is the new one.
Maybe<void> InferStack(const InferContext& context, TensorMeta* outputs);
// TriangleAttrs. At least two dims.
Maybe<void> InferTriangle(const InferContext& context, TensorMeta* outputs);
// ConstantPadAttrs.
Maybe<void> InferConstantPad(const InferContext& context, TensorMeta* outputs);
// DiagonalAttrs, DiagonalBackwardAttrs.
Maybe<void> InferDiagonal(const InferContext& context, TensorMeta* outputs);
Maybe<void> InferDiagonalBackward(const InferContext& context, TensorMeta* outputs);
// UnfoldTensorAttrs, UnfoldTensorBackwardAttrs.
Maybe<void> InferUnfoldTensor(const InferContext& context, TensorMeta* outputs);
Maybe<void> InferUnfoldTensorBackward(const InferContext& context, TensorMeta* outputs);
// OneHotAttrs.
Maybe<void> InferOneHot(const InferContext& context, TensorMeta* outputs);
// LinspaceOpAttrs.
Maybe<void> InferLinspace(const InferContext& context, TensorMeta* outputs);

// RandintOpAttrs, BernoulliOpAttrs, ExponentialOpAttrs, RandpermOpAttrs, MultinomialAttrs.
Maybe<void> InferRandint(const InferContext& context, TensorMeta* outputs);
Maybe<void> InferBernoulli(const InferContext& context, TensorMeta* outputs);
Maybe<void> InferExponential(const InferContext& context, TensorMeta* outputs);
Maybe<void> InferRandperm(const InferContext& context, TensorMeta* outputs);
Maybe<void> InferMultinomial(const InferContext& context, TensorMeta* outputs);

}  // namespace oneflow

#endif  // ONEFLOW_OP_RULES_SHAPE_H_
