// What rows of the reducing families call to turn parameters into attributes; see attr_helpers.h.
//
// Thread safety: pure functions.
#ifndef ONEFLOW_FUNCTIONAL_ATTR_HELPERS_REDUCE_H_
#define ONEFLOW_FUNCTIONAL_ATTR_HELPERS_REDUCE_H_

#include <cstdint>
#include <optional>

#include "oneflow/common/maybe.h"
#include "oneflow/tensor/tensor.h"

namespace oneflow::functional {

// A flag that is off where it was not given.
Maybe<bool> FlagOf(const char* op, std::optional<bool> flag);
// What var and std take off the number of elements: 1 unless `unbiased` is false, or `correction`.
Maybe<double> CorrectionOf(const char* op, std::optional<bool> unbiased,
                           std::optional<double> correction);

}  // namespace oneflow::functional

#endif  // ONEFLOW_FUNCTIONAL_ATTR_HELPERS_REDUCE_H_
