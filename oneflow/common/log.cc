#include "oneflow/common/log.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace oneflow {

namespace {
std::atomic<bool> stderr_is_ours{true};
}  // namespace

void DisownStderr() { stderr_is_ours.store(false); }

void WriteStderr(std::string_view text) {
  if (!stderr_is_ours.load()) { return; }
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) { continue; }
    if (written <= 0) { return; }  // stderr closed or full: there is nobody left to tell
    text.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace oneflow
