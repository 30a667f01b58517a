// What rows of the reducing families call to turn parameters into attributes; see attr_helpers.h.
//
// Thread safety: pure functions.
#ifndef ONEFLOW_FUNCTIONAL_ATTR_HELPERS_REDUCE_H_
#define ONEFLOW_FUNCTIONAL_ATTR_HELPERS_REDUCE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "oneflow/common/maybe.h"
#include "oneflow/core/scalar.h"
#include "oneflow/tensor/tensor.h"

namespace oneflow::functional {

// A flag that is off where it was not given.
Maybe<bool> FlagOf(const char* op, std::optional<bool> flag);
// What var and std take off the number of elements: 1 unless `unbiased` is false, or `correction`.
Maybe<double> CorrectionOf(const char* op, std::optional<bool> unbiased,
                           std::optional<double> correction);

inline Maybe<DataType> DtypeOf(const char* op, const TensorPtr& input) { return input->dtype(); }
// A rank that counts from 1, as one that counts from 0.
Maybe<int64_t> RankOf(const char* op, int64_t k);
// The lower one of the middle two elements along the dim.
Maybe<int64_t> MedianRank(const char* op, const TensorPtr& input, int64_t dim);
// Whether equal elements go before a value; `side` must not contradict `right`.
Maybe<bool> SearchSide(const char* op, bool right, const std::optional<std::string>& side);
Maybe<double> RealOf(const char* op, const Scalar& value);
Maybe<DataType> IndexDtype(const char* op, bool out_int32);

}  // namespace oneflow::functional

#endif  // ONEFLOW_FUNCTIONAL_ATTR_HELPERS_REDUCE_H_
