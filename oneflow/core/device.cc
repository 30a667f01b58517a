#include "oneflow/core/device.h"

#include <charconv>

namespace oneflow {

const char* DeviceTypeName(DeviceType type) { return type == DeviceType::kCPU ? "cpu" : "cuda"; }

Maybe<Device> Device::Parse(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  int index = 0;
  bool good = kind == "cpu" || kind == "cuda";
  if (colon != std::string_view::npos) {
    const std::string_view digits = text.substr(colon + 1);
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    good = good && parsed.ec == std::errc() && parsed.ptr == digits.data() + digits.size() &&
           index >= 0 && index < 4096;
  }
  if (!good) {
    return RuntimeError("[device] expects 'cpu', 'cuda' or 'cuda:<index>', got '{}'", text);
  }
  return Device(kind == "cpu" ? DeviceType::kCPU : DeviceType::kCUDA, index);
}

std::string Device::ToString() const { return Format("{}:{}", DeviceTypeName(type_), index_); }

}  // namespace oneflow
