// Device: a kind and an index, such as cpu:0 or cuda:1.
//
// A Device value always names a kind that exists in this build; whether the machine has one is
// asked of the device layer when the device is used. Thread safety: plain value.
#ifndef ONEFLOW_CORE_DEVICE_H_
#define ONEFLOW_CORE_DEVICE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "oneflow/common/maybe.h"

namespace oneflow {

enum class DeviceType : uint8_t { kCPU, kCUDA };
inline constexpr int kNumDeviceTypes = 2;

const char* DeviceTypeName(DeviceType type);

class Device {
 public:
  constexpr Device() = default;
  constexpr Device(DeviceType type, int index) : type_(type), index_(static_cast<int16_t>(index)) {}

  // Reads "cpu", "cuda", "cuda:1". ValueError on anything else.
  static Maybe<Device> Parse(std::string_view text);

  DeviceType type() const { return type_; }
  int index() const { return index_; }
  std::string ToString() const;  // "cpu:0"

  friend bool operator==(Device a, Device b) { return a.type_ == b.type_ && a.index_ == b.index_; }
  friend bool operator!=(Device a, Device b) { return !(a == b); }

 private:
  DeviceType type_ = DeviceType::kCPU;
  int16_t index_ = 0;
};

}  // namespace oneflow

#endif  // ONEFLOW_CORE_DEVICE_H_
