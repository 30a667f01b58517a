// For tests: an internal check that fails, three calls deep, as a bug of ours would.
//
// Thread safety: all functions.
#ifndef ONEFLOW_COMMON_TRIPPED_CHECK_H_
#define ONEFLOW_COMMON_TRIPPED_CHECK_H_

#include <string>

#include "oneflow/common/maybe.h"

namespace oneflow {

// Always an InternalError with `text`, and the frames of the three calls.
Maybe<void> TripInternalCheck(const std::string& text);

}  // namespace oneflow

#endif  // ONEFLOW_COMMON_TRIPPED_CHECK_H_
