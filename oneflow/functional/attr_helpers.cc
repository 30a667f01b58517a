#include "oneflow/functional/attr_helpers.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <iterator>

#include "oneflow/functional/promotion.h"

namespace oneflow::functional {

namespace {

std::atomic<DataType> default_dtype{DataType::kFloat};

// A bound of a Python slice as an index in [0, size].
int64_t ClampIndex(int64_t index, int64_t size) {
  return std::clamp<int64_t>(index < 0 ? index + size : index, 0, size);
}

// In the order of FailureKind.
constexpr const char* kFailureNames[] = {
    "type",     "value",       "index",     "runtime",   "not_implemented", "out_of_memory",
    "internal", "environment", "bad_alloc", "exception", "foreign"};

int Category(DataType t) { return IsBool(t) ? 0 : (IsIntegral(t) ? 1 : 2); }

// The dtype of a number that stands for itself.
DataType OwnDtype(const Scalar& value) {
  switch (value.kind()) {
    case Scalar::Kind::kBool: return DataType::kBool;
    case Scalar::Kind::kInt: return DataType::kInt64;
    case Scalar::Kind::kFloat: break;
  }
  return DefaultDtype();
}

// How many steps lead from start up to, but not including, end. Saturates past 2^62.
int64_t CountIntegers(int64_t start, int64_t end, int64_t step) {
  const unsigned long long distance =
      step > 0 ? static_cast<unsigned long long>(end) - static_cast<unsigned long long>(start)
               : static_cast<unsigned long long>(start) - static_cast<unsigned long long>(end);
  const unsigned long long size =
      step > 0 ? static_cast<unsigned long long>(step) : -static_cast<unsigned long long>(step);
  const unsigned long long count = distance / size + (distance % size != 0 ? 1 : 0);
  return static_cast<int64_t>(std::min(count, 1ULL << 62));
}

}  // namespace

DataType DefaultDtype() { return default_dtype.load(std::memory_order_relaxed); }

Maybe<void> SetDefaultDtype(DataType dtype) {
  if (!IsFloating(dtype)) {
    return TypeError("[set_default_dtype] expects a floating dtype, got {}", DataTypeName(dtype));
  }
  default_dtype.store(dtype, std::memory_order_relaxed);
  return Ok();
}

std::string AttrAsParam(Reduction reduction) {
  switch (reduction) {
    case Reduction::kNone: return "none";
    case Reduction::kMean: return "mean";
    case Reduction::kSum: break;
  }
  return "sum";
}

std::string AttrAsParam(FailureKind kind) { return kFailureNames[static_cast<size_t>(kind)]; }

Maybe<FailureKind> ParseFailure(const char* op, const std::string& text) {
  std::string all;
  for (size_t i = 0; i < std::size(kFailureNames); ++i) {
    if (text == kFailureNames[i]) { return static_cast<FailureKind>(i); }
    all += (i == 0 ? "" : ", ") + std::string(kFailureNames[i]);
  }
  return ValueError("[{}] expects a kind of {}, got {}", op, all, text);
}

Maybe<int64_t> WrapInputDim(const char* op, const TensorPtr& input, int64_t dim) {
  return static_cast<int64_t>(JUST(WrapDim(op, dim, input->ndim())));
}

Maybe<IntList> WrapDims(const char* op, const TensorPtr& input, const std::optional<Dims>& dims) {
  IntList out;
  if (!dims.has_value()) { return out; }
  out.given = true;
  bool seen[kMaxDims] = {};
  for (int64_t dim : *dims) {
    const int wrapped = JUST(WrapDim(op, dim, input->ndim()));
    if (seen[wrapped]) {
      return RuntimeError("[{}] expects each dim once, got dim {} twice in {}", op, wrapped, *dims);
    }
    seen[wrapped] = true;
    if (input->ndim() > 0) { out.values[out.count++] = wrapped; }
  }
  return out;
}

Maybe<IntList> WrapOneDim(const char* op, const TensorPtr& input, std::optional<int64_t> dim) {
  if (!dim.has_value()) { return IntList(); }
  return WrapDims(op, input, Dims{*dim});
}

Maybe<IntList> WrapPermutation(const char* op, const TensorPtr& input, const Dims& dims) {
  if (dims.size() != input->ndim()) {
    return RuntimeError("[{}] expects each of the {} dims of input {} once, got {}", op,
                        input->ndim(), input->shape(), dims);
  }
  return WrapDims(op, input, dims);
}

Maybe<int64_t> WrapSliceDim(const char* op, const TensorPtr& input, int64_t dim) {
  if (input->ndim() == 0) {
    return IndexError("[{}] expects a tensor with at least one dim, got shape ()", op);
  }
  return WrapInputDim(op, input, dim);
}

Maybe<int64_t> SliceStart(const char* op, const TensorPtr& input, int64_t dim,
                          std::optional<int64_t> start) {
  const int64_t size = input->shape()[static_cast<int>(JUST(WrapSliceDim(op, input, dim)))];
  return ClampIndex(start.value_or(0), size);
}

Maybe<int64_t> SliceLength(const char* op, const TensorPtr& input, int64_t dim,
                           std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
  if (step < 1) { return ValueError("[{}] expects a positive step, got {}", op, step); }
  const int64_t size = input->shape()[static_cast<int>(JUST(WrapSliceDim(op, input, dim)))];
  const int64_t first = ClampIndex(start.value_or(0), size);
  const int64_t bound = ClampIndex(end.value_or(size), size);
  return bound > first ? (bound - first - 1) / step + 1 : 0;
}

Maybe<Scalar> FactorFor(const char* op, const TensorPtr& input, const TensorPtr& other,
                        const Scalar& factor) {
  if (factor.is_float() && !IsFloating(input->dtype()) && !IsFloating(other->dtype())) {
    return RuntimeError("[{}] expects an integer alpha for operands of dtypes {} and {}, got {}",
                        op, DataTypeName(input->dtype()), DataTypeName(other->dtype()), factor);
  }
  return factor;
}

Maybe<Scalar> ScaledScalar(const char* op, const TensorPtr& input, const Scalar& value,
                           const Scalar& factor) {
  if (factor.is_float() && !value.is_float() && !IsFloating(input->dtype())) {
    return RuntimeError("[{}] expects an integer alpha for an operand of dtype {} and {}, got {}",
                        op, DataTypeName(input->dtype()), value, factor);
  }
  if (value.is_float() || factor.is_float()) {
    return Scalar(value.To<double>() * factor.To<double>());
  }
  // Integers wrap around, as the elements they are added to do.
  const uint64_t product =
      static_cast<uint64_t>(value.To<int64_t>()) * static_cast<uint64_t>(factor.To<int64_t>());
  return Scalar(static_cast<int64_t>(product));
}

Maybe<int64_t> ArangeCount(const char* op, const Scalar& start, const Scalar& end,
                           const Scalar& step) {
  const double first = start.To<double>();
  const double bound = end.To<double>();
  const double by = step.To<double>();
  if (!std::isfinite(first) || !std::isfinite(bound) || !std::isfinite(by) || by == 0 ||
      (by > 0 ? bound < first : bound > first)) {
    return ValueError("[{}] expects finite bounds and a step, not 0, that leads from start to end, "
                      "got start {}, end {}, step {}",
                      op, start, end, step);
  }
  if (start.is_float() || end.is_float() || step.is_float()) {
    const double count = std::ceil((bound - first) / by);
    return count < 4e18 ? static_cast<int64_t>(count) : int64_t{1} << 62;
  }
  return CountIntegers(start.To<int64_t>(), end.To<int64_t>(), step.To<int64_t>());
}

Maybe<Reduction> ParseReduction(const char* op, const std::string& text) {
  if (text == "mean") { return Reduction::kMean; }
  if (text == "sum") { return Reduction::kSum; }
  if (text == "none") { return Reduction::kNone; }
  return ValueError("[{}] expects a reduction of mean, sum or none, got {}", op, text);
}

Maybe<void> CheckFits(const char* op, const Scalar& value, DataType dtype) {
  if (!IsIntegral(dtype) || IsBool(dtype)) { return Ok(); }
  const int bits = static_cast<int>(8 * SizeOf(dtype)) - (dtype == DataType::kUInt8 ? 0 : 1);
  const double bound = std::ldexp(1.0, bits);  // the first number past the range
  const double least = dtype == DataType::kUInt8 ? 1 - bound : -bound;
  // A float is cut to an integer first. Any int of 64 bits fits 64 bits; the others are exact here.
  const double number = std::trunc(value.To<double>());
  const bool whole = !value.is_float() && bits == 63;
  if (whole || (number >= least && number < bound)) { return Ok(); }
  return RuntimeError("[{}] expects a number that fits {}, got {}", op, DataTypeName(dtype), value);
}

Maybe<DataType> ScalarDtype(const char* op, const TensorPtr& input, const Scalar& other) {
  const DataType dtype = other.ResultType(input->dtype(), DefaultDtype());
  JUST(CheckFits(op, other, dtype));
  return dtype;
}

Maybe<DataType> QuotientDtype(const char* op, const TensorPtr& input, const TensorPtr& other) {
  const DataType common = CommonType(input, other);
  return IsFloating(common) ? common : DefaultDtype();
}

Maybe<DataType> SumDtype(const char* op, const TensorPtr& input, std::optional<DataType> dtype) {
  if (dtype.has_value()) { return *dtype; }
  return IsFloating(input->dtype()) ? input->dtype() : DataType::kInt64;
}

Maybe<DataType> DtypeOr(const char* op, const TensorPtr& input, std::optional<DataType> dtype) {
  return dtype.value_or(input->dtype());
}

Maybe<DataType> FillDtype(const char* op, const Scalar& value, std::optional<DataType> dtype) {
  const DataType wanted = dtype.has_value() ? *dtype : OwnDtype(value);
  JUST(CheckFits(op, value, wanted));
  return wanted;
}

Maybe<DataType> ArangeDtype(const char* op, const Scalar& start, const Scalar& end,
                            const Scalar& step, std::optional<DataType> dtype) {
  if (dtype.has_value()) { return *dtype; }
  const bool any_float = start.is_float() || end.is_float() || step.is_float();
  return any_float ? DefaultDtype() : DataType::kInt64;
}

Maybe<void> CheckInplaceDtype(const char* op, const TensorPtr& target, DataType result) {
  if (Category(result) > Category(target->dtype())) {
    return RuntimeError("[{}] in place expects a result that fits the target's dtype {}, got {}",
                        op, DataTypeName(target->dtype()), DataTypeName(result));
  }
  return Ok();
}

}  // namespace oneflow::functional
