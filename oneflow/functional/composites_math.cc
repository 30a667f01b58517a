#include "oneflow/functional/composites_math.h"

#include <cmath>
#include <limits>

#include "oneflow/functional/attr_helpers.h"
#include "oneflow/functional/generated/functional.h"
#include "oneflow/functional/promotion.h"

namespace oneflow::functional {

Maybe<DataType> FloatDtype(const char*, const TensorPtr& input) {
  return IsFloating(input->dtype()) ? input->dtype() : DefaultDtype();
}

Maybe<DataType> NumberDtype(const char* op, const TensorPtr& input) {
  if (!IsBool(input->dtype())) { return input->dtype(); }
  return RuntimeError("[{}] expects numbers, got bool {}", op, input->shape());
}

Maybe<DataType> CompareDtype(const char* op, const TensorPtr& input, const Scalar& other) {
  const DataType dtype = other.ResultType(input->dtype(), DataType::kDouble);
  // A number past the range of the elements equals none of them; nothing may wrap around.
  const bool below = dtype == DataType::kUInt8 && other.To<int64_t>() < 0;
  if (below || !CheckFits(op, other, dtype).ok()) { return DataType::kInt64; }
  return dtype;
}

Maybe<DataType> PowDtype(const char* op, const TensorPtr& input, const Scalar& exponent) {
  if (!exponent.is_float() && exponent.To<int64_t>() < 0 && !IsFloating(input->dtype())) {
    return RuntimeError("[{}] expects floating elements for a negative power, got dtype {} and {}",
                        op, DataTypeName(input->dtype()), exponent);
  }
  return ScalarDtype(op, input, exponent);
}

Maybe<DataType> ClampDtype(const char* op, const TensorPtr& input, const std::optional<Scalar>& min,
                           const std::optional<Scalar>& max) {
  if (!min.has_value() && !max.has_value()) {
    return RuntimeError("[{}] expects min, max or both, got neither", op);
  }
  DataType dtype = input->dtype();
  if (min.has_value()) { dtype = min->ResultType(dtype, DefaultDtype()); }
  if (max.has_value()) { dtype = max->ResultType(dtype, DefaultDtype()); }
  return dtype;
}

Maybe<double> AsDouble(const char*, const Scalar& value) { return value.To<double>(); }

Maybe<Scalar> LowerBound(const char*, const std::optional<Scalar>& min) {
  return min.value_or(Scalar(-std::numeric_limits<double>::infinity()));
}

Maybe<Scalar> UpperBound(const char*, const std::optional<Scalar>& max) {
  return max.value_or(Scalar(std::numeric_limits<double>::infinity()));
}

Maybe<bool> IsBound(const char*, const std::optional<Scalar>& bound) { return bound.has_value(); }

Maybe<double> PolygammaOrder(const char* op, int64_t n) {
  if (n < 1) { return RuntimeError("[{}] expects an order from 1 on, got {}", op, n); }
  return static_cast<double>(n);
}

Maybe<double> RangeEnd(const char* op, double min_val, double max_val) {
  if (!(min_val <= max_val)) {
    return ValueError("[{}] expects max_val not below min_val, got min_val {}, max_val {}", op,
                      min_val, max_val);
  }
  return max_val;
}

}  // namespace oneflow::functional

namespace oneflow::functional::composites {

namespace {

Maybe<TensorPtr> AsBool(const TensorPtr& mask) {
  return IsBool(mask->dtype()) ? mask : scalar_ne(mask, Scalar(0));
}

Maybe<TensorPtr> NumberLike(const TensorPtr& input, const Scalar& value, DataType dtype) {
  return full(Dims(), value, dtype, input->device());
}

}  // namespace

// y * x^(y - 1), where y is not 0.
Maybe<TensorPtr> AddList(const TensorTuple& inputs) {
  if (inputs.empty()) { return RuntimeError("[add] expects at least one tensor, got none"); }
  if (inputs.size() == 1) { return functional::copy(inputs[0]); }
  TensorPtr out = inputs[0];
  for (size_t i = 1; i < inputs.size(); ++i) { out = JUST(functional::add(out, inputs[i], 1)); }
  return out;
}

Maybe<TensorPtr> PowInputGrad(const TensorPtr& dy, const TensorPtr& input,
                              const TensorPtr& exponent) {
  const TensorPtr lower = JUST(pow(input, JUST(scalar_add(exponent, Scalar(-1)))));
  const TensorPtr grad = JUST(mul(dy, JUST(mul(exponent, lower))));
  return scalar_masked_fill(grad, JUST(scalar_eq(exponent, Scalar(0))), Scalar(0));
}

// x^y log(x); 0 where x is 0 and y is not negative.
Maybe<TensorPtr> PowExponentGrad(const TensorPtr& dy, const TensorPtr& input,
                                 const TensorPtr& exponent, const TensorPtr& out) {
  const TensorPtr grad = JUST(mul(dy, JUST(mul(out, JUST(log(input))))));
  const TensorPtr no_base = JUST(scalar_eq(input, Scalar(0)));
  const TensorPtr no_pole = JUST(scalar_ge(exponent, Scalar(0)));
  return scalar_masked_fill(grad, JUST(logical_and(no_base, no_pole)), Scalar(0));
}

Maybe<TensorPtr> ScalarPowGrad(const TensorPtr& dy, const TensorPtr& input, Scalar exponent) {
  const double y = exponent.To<double>();
  if (y == 0.0) { return depending_on(JUST(scalar_mul(dy, Scalar(0))), input); }
  if (y == 1.0) { return depending_on(dy, input); }
  if (y == 2.0) { return mul(dy, JUST(scalar_mul(input, Scalar(2)))); }
  return mul(dy, JUST(scalar_mul(JUST(scalar_pow(input, Scalar(y - 1.0))), exponent)));
}

Maybe<TensorPtr> ScalarRpowGrad(const TensorPtr& dy, const TensorPtr& exponent,
                                const TensorPtr& out, Scalar input) {
  const double base = input.To<double>();
  const TensorPtr grad = JUST(scalar_mul(JUST(mul(dy, out)), Scalar(std::log(base))));
  if (base != 0.0) { return grad; }
  return scalar_masked_fill(grad, JUST(scalar_ge(exponent, Scalar(0))), Scalar(0));
}

Maybe<TensorPtr> PolygammaAbove(const TensorPtr& input, double order) {
  return polygamma(static_cast<int64_t>(order) + 1, input);
}

namespace {

enum class Rounding { kNone, kFloor, kTrunc };

Maybe<Rounding> ParseRounding(const std::optional<std::string>& mode) {
  if (!mode.has_value()) { return Rounding::kNone; }
  if (*mode == "floor") { return Rounding::kFloor; }
  if (*mode == "trunc") { return Rounding::kTrunc; }
  return ValueError("[div] expects a rounding_mode of floor, trunc or None, got {}", *mode);
}

}  // namespace

Maybe<TensorPtr> DivMode(const TensorPtr& input, const TensorPtr& other,
                         const std::optional<std::string>& rounding_mode) {
  switch (JUST(ParseRounding(rounding_mode))) {
    case Rounding::kFloor: return floor_divide(input, other);
    case Rounding::kTrunc: return trunc_divide(input, other);
    case Rounding::kNone: break;
  }
  return div(input, other);
}

Maybe<TensorPtr> ScalarDivMode(const TensorPtr& input, Scalar other,
                               const std::optional<std::string>& rounding_mode) {
  switch (JUST(ParseRounding(rounding_mode))) {
    case Rounding::kFloor: return scalar_floor_divide(input, other);
    case Rounding::kTrunc: return scalar_trunc_divide(input, other);
    case Rounding::kNone: break;
  }
  return scalar_div(input, other);
}

Maybe<TensorPtr> ClampTensors(const TensorPtr& input, const TensorPtr& min, const TensorPtr& max) {
  if (min == nullptr && max == nullptr) {
    return RuntimeError("[clamp] expects min, max or both, got neither");
  }
  const TensorPtr raised = min == nullptr ? input : JUST(maximum(input, min));
  return max == nullptr ? raised : minimum(raised, max);
}

Maybe<TensorPtr> ClampInto(const TensorPtr& input, const std::optional<Scalar>& min,
                           const std::optional<Scalar>& max) {
  return clamp_(input, min, max);
}

Maybe<TensorPtr> ClampMinInto(const TensorPtr& input, Scalar min) {
  return clamp_(input, min, std::nullopt);
}

Maybe<TensorPtr> ClampMaxInto(const TensorPtr& input, Scalar max) {
  return clamp_(input, std::nullopt, max);
}

Maybe<TensorPtr> GtInto(const TensorPtr& input, const TensorPtr& other) {
  return copy_(input, JUST(gt(input, other)));
}

Maybe<TensorPtr> ScalarGtInto(const TensorPtr& input, Scalar other) {
  return copy_(input, JUST(scalar_gt(input, other)));
}

Maybe<TensorPtr> IsClose(const TensorPtr& input, const TensorPtr& other, double atol, double rtol,
                         bool equal_nan) {
  TensorPtr close = JUST(eq(input, other));
  if (equal_nan) {
    const TensorPtr both = JUST(logical_and(JUST(isnan(input)), JUST(isnan(other))));
    close = JUST(logical_or(close, both));
  }
  const DataType dtype = PromoteTypes(CommonType(input, other), DefaultDtype());
  const TensorPtr y = JUST(to_dtype(other, dtype));
  const TensorPtr distance = JUST(abs(JUST(sub(JUST(to_dtype(input, dtype)), y))));
  const TensorPtr size = JUST(scalar_mul(JUST(abs(y)), Scalar(rtol)));
  const TensorPtr allowed = JUST(scalar_add(size, Scalar(atol)));
  const TensorPtr near = JUST(logical_and(JUST(isfinite(distance)), JUST(le(distance, allowed))));
  return logical_or(close, near);
}

Maybe<TensorPtr> Where(const TensorPtr& condition, const TensorPtr& x, const TensorPtr& y) {
  const DataType dtype = CommonType(x, y);
  return where_select(JUST(AsBool(condition)), JUST(to_dtype(x, dtype)), JUST(to_dtype(y, dtype)));
}

Maybe<TensorPtr> WhereScalarX(const TensorPtr& condition, Scalar x, const TensorPtr& y) {
  const DataType dtype = JUST(ScalarDtype("where", y, x));
  return where_select(JUST(AsBool(condition)), JUST(NumberLike(y, x, dtype)),
                      JUST(to_dtype(y, dtype)));
}

Maybe<TensorPtr> WhereScalarY(const TensorPtr& condition, const TensorPtr& x, Scalar y) {
  const DataType dtype = JUST(ScalarDtype("where", x, y));
  return where_select(JUST(AsBool(condition)), JUST(to_dtype(x, dtype)),
                      JUST(NumberLike(x, y, dtype)));
}

Maybe<TensorPtr> WhereScalars(const TensorPtr& condition, Scalar x, Scalar y) {
  const DataType dtype = PromoteTypes(JUST(FillDtype("where", x, std::nullopt)),
                                      JUST(FillDtype("where", y, std::nullopt)));
  return where_select(JUST(AsBool(condition)), JUST(NumberLike(condition, x, dtype)),
                      JUST(NumberLike(condition, y, dtype)));
}

namespace {

// The value as an element of input: its fraction is dropped for integers, as fill_ does.
Maybe<Scalar> FillValue(const TensorPtr& input, const Scalar& value) {
  JUST(CheckFits("masked_fill", value, input->dtype()));
  if (!value.is_float() || IsFloating(input->dtype())) { return value; }
  return IsBool(input->dtype()) ? Scalar(value.To<double>() != 0) : Scalar(value.To<int64_t>());
}

}  // namespace

Maybe<TensorPtr> MaskedFill(const TensorPtr& input, const TensorPtr& mask, Scalar value) {
  return scalar_masked_fill_inner(input, JUST(AsBool(mask)), JUST(FillValue(input, value)));
}

Maybe<TensorPtr> MaskedFillTensor(const TensorPtr& input, const TensorPtr& mask,
                                  const TensorPtr& value) {
  if (value->Count() != 1) {
    return RuntimeError("[masked_fill] expects a value of one element, got shape {}",
                        value->shape());
  }
  const TensorPtr cast = JUST(to_dtype(JUST(reshape(value, Dims())), input->dtype()));
  return where_select(JUST(AsBool(mask)), cast, input);
}

Maybe<TensorPtr> MaskedFillInto(const TensorPtr& input, const TensorPtr& mask, Scalar value) {
  return scalar_masked_fill_inner_(input, JUST(AsBool(mask)), JUST(FillValue(input, value)));
}

}  // namespace oneflow::functional::composites
