// What rows of the op table call to turn parameters into attributes and dtypes.
//
// Each begins with the op's name, for its error. Generated code adds the name and a JUST.
// Thread safety: pure functions, but for the default dtype (atomic).
#ifndef ONEFLOW_FUNCTIONAL_ATTR_HELPERS_H_
#define ONEFLOW_FUNCTIONAL_ATTR_HELPERS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "oneflow/common/maybe.h"
#include "oneflow/kernels/attr_types.h"
#include "oneflow/tensor/tensor.h"

namespace oneflow::functional {

// The dtype of a new tensor that was given none: float32, or what the user set (a floating dtype).
DataType DefaultDtype();
Maybe<void> SetDefaultDtype(DataType dtype);

// An attribute of a node as the parameter of a functional call.
inline Dims AttrAsParam(const IntList& list) { return list.ToDims(); }
std::string AttrAsParam(Reduction reduction);
std::string AttrAsParam(FailureKind kind);
template <typename T>
const T& AttrAsParam(const T& value) {
  return value;
}
inline IntList AttrOf(const Dims& dims) { return IntList(dims); }
inline IntList AttrOf(const std::optional<Dims>& dims) { return dims ? IntList(*dims) : IntList(); }

// Dims.
Maybe<int64_t> WrapInputDim(const char* op, const TensorPtr& input, int64_t dim);
// Each in [0, ndim) and none twice. Not given, or an empty list: all, which is an empty list.
Maybe<IntList> WrapDims(const char* op, const TensorPtr& input, const std::optional<Dims>& dims);
Maybe<IntList> WrapOneDim(const char* op, const TensorPtr& input, std::optional<int64_t> dim);
// Each of input's dims once.
Maybe<IntList> WrapPermutation(const char* op, const TensorPtr& input, const Dims& dims);

// Slices; a tensor without dims has none to slice.
Maybe<int64_t> WrapSliceDim(const char* op, const TensorPtr& input, int64_t dim);
Maybe<int64_t> SliceStart(const char* op, const TensorPtr& input, int64_t dim,
                          std::optional<int64_t> start);
Maybe<int64_t> SliceLength(const char* op, const TensorPtr& input, int64_t dim,
                           std::optional<int64_t> start, std::optional<int64_t> end, int64_t step);

// Numbers.
// RuntimeError for a factor that is a float where no operand is: it would be cut to an integer.
Maybe<Scalar> FactorFor(const char* op, const TensorPtr& input, const TensorPtr& other,
                        const Scalar& factor);
// value * factor, with the same check.
Maybe<Scalar> ScaledScalar(const char* op, const TensorPtr& input, const Scalar& value,
                           const Scalar& factor);
Maybe<int64_t> ArangeCount(const char* op, const Scalar& start, const Scalar& end,
                           const Scalar& step);
Maybe<Reduction> ParseReduction(const char* op, const std::string& text);
Maybe<FailureKind> ParseFailure(const char* op, const std::string& text);

// RuntimeError for a number that is none in an integral dtype: past its range, infinite, or NaN.
// A negative one may stand for its distance from the end of an unsigned range.
Maybe<void> CheckFits(const char* op, const Scalar& value, DataType dtype);

// Dtypes to compute in.
Maybe<DataType> ScalarDtype(const char* op, const TensorPtr& input, const Scalar& other);
Maybe<DataType> QuotientDtype(const char* op, const TensorPtr& input, const TensorPtr& other);
Maybe<DataType> SumDtype(const char* op, const TensorPtr& input, std::optional<DataType> dtype);
Maybe<DataType> DtypeOr(const char* op, const TensorPtr& input, std::optional<DataType> dtype);
Maybe<DataType> FillDtype(const char* op, const Scalar& value, std::optional<DataType> dtype);
Maybe<DataType> ArangeDtype(const char* op, const Scalar& start, const Scalar& end,
                            const Scalar& step, std::optional<DataType> dtype);

// RuntimeError where a result of dtype `result` would lose its category in `target` (a float added
// in place to integers).
Maybe<void> CheckInplaceDtype(const char* op, const TensorPtr& target, DataType result);

}  // namespace oneflow::functional

#endif  // ONEFLOW_FUNCTIONAL_ATTR_HELPERS_H_
