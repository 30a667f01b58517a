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

}  // namespace oneflow::functional
