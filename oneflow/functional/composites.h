// The rows that are written in other ops. Each has the signature of its row; the op table says what
// it does. None computes anything itself, so that gradients and graphs come for free.
//
// Thread safety: as functional calls.
#ifndef ONEFLOW_FUNCTIONAL_COMPOSITES_H_
#define ONEFLOW_FUNCTIONAL_COMPOSITES_H_

#include <optional>
#include <string>
#include <utility>

#include "oneflow/common/maybe.h"
#include "oneflow/core/generator.h"
#include "oneflow/core/scalar.h"
#include "oneflow/tensor/tensor.h"

namespace oneflow::functional {

// What the ops inside refused is said in the name that the user called.
template <typename T>
Maybe<T> NamedAs(const char* op, Maybe<T>&& result) {
  if (__builtin_expect(!result.ok(), 0)) { result.error()->Rename(op); }
  return std::move(result);
}

}  // namespace oneflow::functional

namespace oneflow::functional::composites {

using OptDtype = std::optional<DataType>;
using OptDevice = std::optional<Device>;

// composites_elementwise.cc
Maybe<TensorPtr> ScalarSub(const TensorPtr& input, Scalar other, Scalar alpha);
Maybe<TensorPtr> ScalarSubInto(const TensorPtr& input, Scalar other, Scalar alpha);
Maybe<TensorPtr> Rsub(const TensorPtr& input, Scalar other, Scalar alpha);
Maybe<TensorPtr> Scale(const TensorPtr& input, Scalar other);
Maybe<TensorPtr> ToDtype(const TensorPtr& input, DataType dtype);
Maybe<TensorPtr> CopyInto(const TensorPtr& input, const TensorPtr& other);

// composites_creation.cc
Maybe<TensorPtr> Zeros(const Dims& size, OptDtype dtype, OptDevice device);
Maybe<TensorPtr> Ones(const Dims& size, OptDtype dtype, OptDevice device);
Maybe<TensorPtr> FullLike(const TensorPtr& input, Scalar value, OptDtype dtype, OptDevice device);
Maybe<TensorPtr> FillInto(const TensorPtr& input, Scalar value);
Maybe<TensorPtr> FillWithTensor(const TensorPtr& input, const TensorPtr& value);
Maybe<TensorPtr> NormalInto(const TensorPtr& input, double mean, double std,
                            const GeneratorPtr& generator);
Maybe<TensorPtr> UniformInto(const TensorPtr& input, double a, double b,
                             const GeneratorPtr& generator);

// composites_reduce.cc
Maybe<TensorPtr> SumBackward(const TensorPtr& dy, const Dims& shape, const Dims& dims,
                             bool keepdim);
Maybe<TensorPtr> MeanBackward(const TensorPtr& dy, const Dims& shape, const Dims& dims,
                              bool keepdim);
Maybe<TensorPtr> SumToShape(const TensorPtr& input, const Dims& shape);

// composites_view.cc
Maybe<TensorPtr> Reshape(const TensorPtr& input, const Dims& shape);
Maybe<TensorPtr> PermuteBackward(const TensorPtr& dy, const Dims& dims);
Maybe<TensorPtr> Transpose(const TensorPtr& input, int64_t dim0, int64_t dim1);
Maybe<TensorPtr> TransposeMatrix(const TensorPtr& input);
Maybe<TensorPtr> Narrow(const TensorPtr& input, int64_t dim, int64_t start, int64_t length);
Maybe<TensorPtr> Select(const TensorPtr& input, int64_t dim, int64_t index);
Maybe<TensorPtr> Unsqueeze(const TensorPtr& input, int64_t dim);
Maybe<TensorPtr> Squeeze(const TensorPtr& input, const std::optional<Dims>& dim);
Maybe<TensorPtr> Flatten(const TensorPtr& input, int64_t start_dim, int64_t end_dim);
Maybe<TensorPtr> SliceLike(const TensorPtr& dy, const Dims& shape, int64_t dim, int64_t start,
                           int64_t step, const Dims& like);
Maybe<TensorPtr> Contiguous(const TensorPtr& input);

}  // namespace oneflow::functional::composites

#endif  // ONEFLOW_FUNCTIONAL_COMPOSITES_H_
