// The rows of matmul, einsum and linear algebra that are written in other ops. See composites.h.
//
// Thread safety: as functional calls.
#ifndef ONEFLOW_FUNCTIONAL_COMPOSITES_LINALG_H_
#define ONEFLOW_FUNCTIONAL_COMPOSITES_LINALG_H_

#include <optional>
#include <string>

#include "oneflow/common/maybe.h"
#include "oneflow/core/scalar.h"
#include "oneflow/tensor/tensor.h"

namespace oneflow::functional::composites {

// composites_matmul.cc
Maybe<TensorPtr> Matmul(const TensorPtr& input, const TensorPtr& other, bool transpose_a,
                        bool transpose_b, double alpha);
Maybe<TensorPtr> LinearWeightGrad(const TensorPtr& dy, const TensorPtr& input);
Maybe<TensorPtr> Mm(const TensorPtr& input, const TensorPtr& mat2);
Maybe<TensorPtr> Bmm(const TensorPtr& input, const TensorPtr& mat2);
Maybe<TensorPtr> BatchMatmul(const TensorPtr& a, const TensorPtr& b, bool transpose_a,
                             bool transpose_b, double alpha);
Maybe<TensorPtr> Mv(const TensorPtr& input, const TensorPtr& vec);
Maybe<TensorPtr> Dot(const TensorPtr& input, const TensorPtr& other);
Maybe<TensorPtr> Addmm(const TensorPtr& input, const TensorPtr& mat1, const TensorPtr& mat2,
                       Scalar alpha, Scalar beta);
Maybe<TensorPtr> Baddbmm(const TensorPtr& input, const TensorPtr& batch1, const TensorPtr& batch2,
                         double beta, double alpha);
Maybe<TensorPtr> BiasAdd(const TensorPtr& x, const TensorPtr& bias, int64_t axis);
Maybe<TensorPtr> FusedMatmulBias(const TensorPtr& x, const TensorPtr& weight, const TensorPtr& bias,
                                 const TensorPtr& add_to_output);
Maybe<TensorPtr> FusedMlp(const TensorPtr& x, const TensorTuple& weights, const TensorTuple& biases,
                          bool skip_final_activation);
Maybe<TensorTuple> GroupedMatmul(const TensorTuple& xs, const TensorTuple& weights);
Maybe<TensorTuple> GroupedMatmulBias(const TensorTuple& xs, const TensorTuple& weights,
                                     const TensorTuple& biases);

// composites_linalg.cc
Maybe<TensorPtr> Cross(const TensorPtr& input, const TensorPtr& other, std::optional<int64_t> dim);
Maybe<TensorPtr> LinalgCross(const TensorPtr& input, const TensorPtr& other,
                             std::optional<int64_t> dim);
Maybe<TensorPtr> InverseGrad(const TensorPtr& dy, const TensorPtr& inverse);

// composites_einsum.cc
Maybe<TensorPtr> Tensordot(const TensorPtr& a, const TensorPtr& b, const Dims& dims_a,
                           const Dims& dims_b);
Maybe<TensorPtr> TensordotInt(const TensorPtr& a, const TensorPtr& b, int64_t dims);
Maybe<TensorPtr> Einsum(const std::string& equation, const TensorTuple& operands);

}  // namespace oneflow::functional::composites

#endif  // ONEFLOW_FUNCTIONAL_COMPOSITES_LINALG_H_
