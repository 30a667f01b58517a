#include "oneflow/functional/attr_helpers_reduce.h"

namespace oneflow::functional {

Maybe<bool> FlagOf(const char* op, std::optional<bool> flag) { return flag.value_or(false); }

Maybe<double> CorrectionOf(const char* op, std::optional<bool> unbiased,
                           std::optional<double> correction) {
  if (unbiased.has_value() && correction.has_value()) {
    return ValueError("[{}] expects unbiased or correction, got both", op);
  }
  return correction.value_or(unbiased.value_or(true) ? 1.0 : 0.0);
}

Maybe<int64_t> RankOf(const char* op, int64_t k) { return k - 1; }

Maybe<int64_t> MedianRank(const char* op, const TensorPtr& input, int64_t dim) {
  const int wrapped = JUST(WrapDim(op, dim, input->ndim()));
  const int64_t n = input->ndim() == 0 ? 1 : input->shape()[wrapped];
  return n == 0 ? 0 : (n - 1) / 2;
}

Maybe<bool> SearchSide(const char* op, bool right, const std::optional<std::string>& side) {
  if (!side.has_value()) { return right; }
  if (*side != "left" && *side != "right") {
    return ValueError("[{}] expects a side of left or right, got {}", op, *side);
  }
  if (right && *side == "left") {
    return ValueError("[{}] expects side and right to agree, got side left and right True", op);
  }
  return *side == "right";
}

Maybe<double> RealOf(const char* op, const Scalar& value) { return value.To<double>(); }

Maybe<DataType> IndexDtype(const char* op, bool out_int32) {
  return out_int32 ? DataType::kInt32 : DataType::kInt64;
}

}  // namespace oneflow::functional
