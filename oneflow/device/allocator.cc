#include "oneflow/device/allocator.h"

#include <atomic>

namespace oneflow {

namespace {
constexpr int kMaxDevices = 64;
std::atomic<Allocator*> allocators[kNumDeviceTypes][kMaxDevices];
}  // namespace

Maybe<Allocator*> GetAllocator(Device device) {
  Allocator* found = nullptr;
  if (device.index() < kMaxDevices) {
    found =
        allocators[static_cast<int>(device.type())][device.index()].load(std::memory_order_acquire);
  }
  if (found != nullptr) { return found; }
  if (device.type() == DeviceType::kCUDA) {
    return RuntimeError("[device] {} is not available: this machine has no usable CUDA device, or "
                        "this build has no CUDA support",
                        device);
  }
  return RuntimeError("[device] {} is not available: there is only cpu:0", device);
}

void RegisterAllocator(Device device, Allocator* allocator) {
  allocators[static_cast<int>(device.type())][device.index()].store(allocator,
                                                                    std::memory_order_release);
}

}  // namespace oneflow
