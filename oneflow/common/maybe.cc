#include "oneflow/common/maybe.h"

namespace oneflow {
namespace maybe_detail {

void Throw(const ErrorPtr& error) { throw ErrorException(error); }

void Annotate(const ErrorPtr& error, const char* file, int line, const char* expression) {
  // Only bugs of ours show C++ frames; for the user's mistakes they would be noise, and errors
  // that were published already (poison) must not be written to.
  if (error->kind() == ErrorKind::kInternal && !error->published()) {
    error->AddFrame(file, line, expression);
  }
}

}  // namespace maybe_detail
}  // namespace oneflow
