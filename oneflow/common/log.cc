#include "oneflow/common/log.h"

#include <unistd.h>

namespace oneflow {

void WriteStderr(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written <= 0) { return; }  // stderr closed or full: there is nobody left to tell
    text.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace oneflow
