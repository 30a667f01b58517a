#include "oneflow/device/byte_size.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "oneflow/common/format.h"

namespace oneflow {

bool ParseBytes(const std::string& text, int64_t* bytes) {
  // Plain digits only: strtod would also read "1e3", "0x10" and " 5".
  const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  char* end = nullptr;
  const std::string figure = text.substr(0, digits);
  const double number = std::strtod(figure.c_str(), &end);
  if (end == figure.c_str() || *end != '\0') { return false; }
  std::string_view suffix = std::string_view(text).substr(digits);
  double unit = 1;
  constexpr std::string_view kUnits = "KMGT";
  if (!suffix.empty() && suffix != "B") {
    const size_t power = kUnits.find(static_cast<char>(suffix.front() & ~0x20));
    if (power == std::string_view::npos) { return false; }
    unit = static_cast<double>(int64_t{1} << (10 * (power + 1)));
    suffix.remove_prefix(1);
  }
  const double value = number * unit;
  if (!(suffix.empty() || suffix == "B" || suffix == "iB") || !(value > 0 && value < 0x1p62)) {
    return false;
  }
  *bytes = static_cast<int64_t>(value);
  return true;
}

std::string FormatBytes(int64_t bytes) {
  constexpr const char* kNames[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) { return Format("{} bytes", bytes); }
  double value = static_cast<double>(bytes) / 1024;
  int unit = 0;
  for (; value >= 1024 && unit < 5; ++unit) { value /= 1024; }
  return Format("{:.2f} {}", value, kNames[unit]);
}

}  // namespace oneflow
