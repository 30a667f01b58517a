// Log lines on stderr, one write(2) for each, so that lines of several threads never mix.
//
// The runtime says nothing on its own: warnings only for what the user can mend, and lifetime lines
// only under ONEFLOW_LOG_LIFETIME=1. Thread safe; usable at any moment of the process's life.
#ifndef ONEFLOW_COMMON_LOG_H_
#define ONEFLOW_COMMON_LOG_H_

#include <string>
#include <string_view>

#include "oneflow/common/format.h"

namespace oneflow {

void WriteStderr(std::string_view text);
// For a process that began with its stderr closed: the descriptor is that of some other file now,
// which nothing must be written to.
void DisownStderr();

template <typename... Args>
void LogWarning(std::string_view pattern, const Args&... args) {
  WriteStderr("oneflow: warning: " + Format(pattern, args...) + "\n");
}

}  // namespace oneflow

#endif  // ONEFLOW_COMMON_LOG_H_
