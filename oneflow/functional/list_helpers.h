// What rows over lists of tensors say of a list that may be empty.
//
// Thread safety: pure functions.
#ifndef ONEFLOW_FUNCTIONAL_LIST_HELPERS_H_
#define ONEFLOW_FUNCTIONAL_LIST_HELPERS_H_

#include <cstdint>

#include "oneflow/common/maybe.h"
#include "oneflow/tensor/tensor.h"

namespace oneflow::functional {

inline Maybe<bool> NotEmpty(const char* op, const TensorTuple& list) { return !list.empty(); }

// How many kinds of state there are: `always`, and one for each list that is not empty.
inline Maybe<int32_t> StatesWith(const char* op, int64_t always, const TensorTuple& list) {
  return static_cast<int32_t>(always) + (list.empty() ? 0 : 1);
}
inline Maybe<int32_t> StatesWithTwo(const char* op, int64_t always, const TensorTuple& list,
                                    const TensorTuple& other) {
  return JUST(StatesWith(op, always, list)) + (other.empty() ? 0 : 1);
}

}  // namespace oneflow::functional

#endif  // ONEFLOW_FUNCTIONAL_LIST_HELPERS_H_
