// The rows of the elementwise families that are written in other ops, and what those rows call to
// turn parameters into attributes and dtypes. See composites.h and attr_helpers.h.
//
// Thread safety: as functional calls.
#ifndef ONEFLOW_FUNCTIONAL_COMPOSITES_MATH_H_
#define ONEFLOW_FUNCTIONAL_COMPOSITES_MATH_H_

#include <cstdint>
#include <optional>
#include <string>

#include "oneflow/common/maybe.h"
#include "oneflow/core/scalar.h"
#include "oneflow/tensor/tensor.h"

namespace oneflow::functional {

// Dtypes to compute in. Each begins with the op's name, for its error.
// input's if it is floating, else the default one.
Maybe<DataType> FloatDtype(const char* op, const TensorPtr& input);
// input's; RuntimeError for bool.
Maybe<DataType> NumberDtype(const char* op, const TensorPtr& input);
// One in which input and the number can be told apart: nothing wraps.
Maybe<DataType> CompareDtype(const char* op, const TensorPtr& input, const Scalar& other);
// RuntimeError for a negative power of integers.
Maybe<DataType> PowDtype(const char* op, const TensorPtr& input, const Scalar& exponent);
// RuntimeError if there is no bound.
Maybe<DataType> ClampDtype(const char* op, const TensorPtr& input, const std::optional<Scalar>& min,
                           const std::optional<Scalar>& max);

// Numbers.
Maybe<double> AsDouble(const char* op, const Scalar& value);
// The bound, or an infinite one.
Maybe<Scalar> LowerBound(const char* op, const std::optional<Scalar>& min);
Maybe<Scalar> UpperBound(const char* op, const std::optional<Scalar>& max);
Maybe<bool> IsBound(const char* op, const std::optional<Scalar>& bound);
// RuntimeError for a number below 1.
Maybe<double> PolygammaOrder(const char* op, int64_t n);
// ValueError for one that is below the other.
Maybe<double> RangeEnd(const char* op, double min_val, double max_val);

}  // namespace oneflow::functional

namespace oneflow::functional::composites {

// composites_math.cc
Maybe<TensorPtr> AddList(const TensorTuple& inputs);
Maybe<TensorPtr> PowInputGrad(const TensorPtr& dy, const TensorPtr& input,
                              const TensorPtr& exponent);
Maybe<TensorPtr> PowExponentGrad(const TensorPtr& dy, const TensorPtr& input,
                                 const TensorPtr& exponent, const TensorPtr& out);
Maybe<TensorPtr> ScalarPowGrad(const TensorPtr& dy, const TensorPtr& input, Scalar exponent);
Maybe<TensorPtr> ScalarRpowGrad(const TensorPtr& dy, const TensorPtr& exponent,
                                const TensorPtr& out, Scalar input);
Maybe<TensorPtr> PolygammaAbove(const TensorPtr& input, double order);
Maybe<TensorPtr> DivMode(const TensorPtr& input, const TensorPtr& other,
                         const std::optional<std::string>& rounding_mode);
Maybe<TensorPtr> ScalarDivMode(const TensorPtr& input, Scalar other,
                               const std::optional<std::string>& rounding_mode);
Maybe<TensorPtr> ClampTensors(const TensorPtr& input, const TensorPtr& min, const TensorPtr& max);
Maybe<TensorPtr> ClampInto(const TensorPtr& input, const std::optional<Scalar>& min,
                           const std::optional<Scalar>& max);
Maybe<TensorPtr> ClampMinInto(const TensorPtr& input, Scalar min);
Maybe<TensorPtr> ClampMaxInto(const TensorPtr& input, Scalar max);
Maybe<TensorPtr> GtInto(const TensorPtr& input, const TensorPtr& other);
Maybe<TensorPtr> ScalarGtInto(const TensorPtr& input, Scalar other);
Maybe<TensorPtr> IsClose(const TensorPtr& input, const TensorPtr& other, double atol, double rtol,
                         bool equal_nan);
Maybe<TensorPtr> Where(const TensorPtr& condition, const TensorPtr& x, const TensorPtr& y);
Maybe<TensorPtr> WhereScalarX(const TensorPtr& condition, Scalar x, const TensorPtr& y);
Maybe<TensorPtr> WhereScalarY(const TensorPtr& condition, const TensorPtr& x, Scalar y);
Maybe<TensorPtr> WhereScalars(const TensorPtr& condition, Scalar x, Scalar y);
Maybe<TensorPtr> MaskedFill(const TensorPtr& input, const TensorPtr& mask, Scalar value);
Maybe<TensorPtr> MaskedFillTensor(const TensorPtr& input, const TensorPtr& mask,
                                  const TensorPtr& value);
Maybe<TensorPtr> MaskedFillInto(const TensorPtr& input, const TensorPtr& mask, Scalar value);

// composites_activation.cc
Maybe<TensorPtr> GeluWithApproximate(const TensorPtr& input, const std::string& approximate);
Maybe<TensorPtr> Celu(const TensorPtr& input, double alpha, bool inplace);
Maybe<TensorPtr> LeakyRelu(const TensorPtr& input, double alpha, bool inplace);
Maybe<TensorPtr> Hardshrink(const TensorPtr& input, double lambd, bool inplace);
Maybe<TensorPtr> Softshrink(const TensorPtr& input, double alpha, bool inplace);
Maybe<TensorPtr> Hardsigmoid(const TensorPtr& input, bool inplace);
Maybe<TensorPtr> ReluInplace(const TensorPtr& input, bool inplace);
Maybe<TensorPtr> Prelu(const TensorPtr& input, const TensorPtr& alpha);
Maybe<TensorPtr> Glu(const TensorPtr& input, int64_t dim);
// Second derivatives.
Maybe<TensorPtr> SiluCurve(const TensorPtr& input);
Maybe<TensorPtr> MishCurve(const TensorPtr& input);
Maybe<TensorPtr> GeluCurve(const TensorPtr& input);
Maybe<TensorPtr> FastGeluCurve(const TensorPtr& input);
Maybe<TensorPtr> QuickGeluCurve(const TensorPtr& input);
Maybe<TensorPtr> SoftplusCurve(const TensorPtr& input, double beta, double threshold);
Maybe<TensorPtr> EluCurve(const TensorPtr& input, double alpha, double input_scale);

}  // namespace oneflow::functional::composites

#endif  // ONEFLOW_FUNCTIONAL_COMPOSITES_MATH_H_
