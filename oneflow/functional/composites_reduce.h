// The rows of reductions that are written in other ops, and gradients; see composites.h.
//
// Thread safety: as functional calls.
#ifndef ONEFLOW_FUNCTIONAL_COMPOSITES_REDUCE_H_
#define ONEFLOW_FUNCTIONAL_COMPOSITES_REDUCE_H_

#include <optional>
#include <string>

#include "oneflow/functional/call_types.h"
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

Maybe<TensorPtr> ProdBackward(const TensorPtr& dy, const TensorPtr& input, const TensorPtr& out,
                              const Dims& dims, bool keepdim);

Maybe<TensorPtr> ReduceSumLike(const TensorPtr& input, const TensorPtr& like, const Dims& axis);

// composites_vector_norm.cc
Maybe<TensorPtr> VectorNormBackward(const TensorPtr& dy, const TensorPtr& input,
                                    const TensorPtr& out, double ord, const Dims& dims,
                                    bool keepdim);
Maybe<TensorPtr> MatrixNorm(const TensorPtr& input, Scalar ord, const Dims& dim, bool keepdim,
                            OptDtype dtype);
Maybe<TensorPtr> MatrixNormByName(const TensorPtr& input, const std::string& ord, const Dims& dim,
                                  bool keepdim, OptDtype dtype);
Maybe<TensorPtr> Norm(const TensorPtr& input, const std::optional<Scalar>& ord,
                      const std::optional<Dims>& dim, bool keepdim, OptDtype dtype, bool for_norm);
Maybe<TensorPtr> NormByName(const TensorPtr& input, const std::string& ord,
                            const std::optional<Dims>& dim, bool keepdim, OptDtype dtype);

// composites_ranks.cc
Maybe<TensorPtr> Quantile(const TensorPtr& input, Scalar q, std::optional<int64_t> dim,
                          bool keepdim, const std::string& interpolation);
Maybe<TensorPtr> Quantiles(const TensorPtr& input, const TensorPtr& q, std::optional<int64_t> dim,
                           bool keepdim, const std::string& interpolation);
Maybe<TensorPtr> Unique(const TensorPtr& input, bool sorted, DataType dtype);
Maybe<TensorChoice> UniqueWithCounts(const TensorPtr& input, bool sorted, bool return_inverse,
                                     bool return_counts, DataType dtype);
Maybe<TensorPtr> Bincount(const TensorPtr& input, const TensorPtr& weights,
                          std::optional<int64_t> minlength);

// composites_order.cc
Maybe<TensorPtr> CumprodBackward(const TensorPtr& dy, const TensorPtr& input, const TensorPtr& out,
                                 int64_t dim);
// Gradients of elements that were chosen along a dim, back to where they were.
Maybe<TensorPtr> AlongDimBackward(const TensorPtr& dy, const TensorPtr& index, const Dims& shape,
                                  int64_t dim, bool keepdim);
// The same where a tensor without dims has no dim.
Maybe<TensorPtr> AlongDimsBackward(const TensorPtr& dy, const TensorPtr& index, const Dims& shape,
                                   const Dims& dims, bool keepdim);
Maybe<TensorPtr> ArgSort(const TensorPtr& input, const std::string& direction);
Maybe<TensorPtr> SearchsortedScalar(const TensorPtr& sorted_sequence, Scalar values, bool out_int32,
                                    bool right, const std::optional<std::string>& side,
                                    const TensorPtr& sorter);
Maybe<TensorPtr> RocAucScore(const TensorPtr& label, const TensorPtr& pred);

}  // namespace oneflow::functional::composites

#endif  // ONEFLOW_FUNCTIONAL_COMPOSITES_REDUCE_H_
