#include "oneflow/common/tripped_check.h"

namespace oneflow {

namespace {

Maybe<int> Third(int depth, const std::string& text) {
  CHECK_OR_RETURN(depth < 3, "{}", text);
  return depth;
}

Maybe<int> Second(int depth, const std::string& text) { return JUST(Third(depth + 1, text)) + 1; }

Maybe<void> First(int depth, const std::string& text) {
  JUST(Second(depth + 1, text));
  return Ok();
}

}  // namespace

Maybe<void> TripInternalCheck(const std::string& text) {
  JUST(First(1, text));
  return Ok();
}

}  // namespace oneflow
