#include "oneflow/common/terminal.h"

#include <unistd.h>

#include "oneflow/common/env_var.h"

namespace oneflow {

bool WantsColor(bool is_terminal) {
  const std::string python = EnvString("PYTHON_COLORS", "");
  if (python == "0" || python == "1") { return python == "1"; }
  if (!EnvString("NO_COLOR", "").empty()) { return false; }
  if (!EnvString("FORCE_COLOR", "").empty()) { return true; }
  return EnvString("TERM", "") != "dumb" && is_terminal;
}

bool StderrWantsColor() { return WantsColor(::isatty(STDERR_FILENO) == 1); }

std::string ErrorColored(std::string_view text) {
  return "\x1b[1;31m" + std::string(text) + "\x1b[0m";
}

std::string HeadingColored(std::string_view text) {
  return "\x1b[1;33m" + std::string(text) + "\x1b[0m";
}

}  // namespace oneflow
