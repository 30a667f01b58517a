#include "oneflow/device/allocator.h"

#include <atomic>
#include <csignal>
#include <string>

#include "oneflow/common/mutex.h"
#include "oneflow/common/planted_fault.h"

namespace oneflow {

namespace {

std::atomic<Allocator*> allocators[kNumDeviceTypes][kMaxDevicesPerType];

struct Backend {
  Mutex mutex;
  FindDevicesFn find GUARDED_BY(mutex) = nullptr;  // until it has run
  std::string reason GUARDED_BY(mutex);            // why it found nothing
};

// Leaked: devices may be asked for until the very end of the process.
Backend* BackendOf(DeviceType type) {
  static auto* backends = new Backend[kNumDeviceTypes];
  return &backends[static_cast<int>(type)];
}

Allocator* Find(Device device) {
  if (device.index() < 0 || device.index() >= kMaxDevicesPerType) { return nullptr; }
  return allocators[static_cast<int>(device.type())][device.index()].load(
      std::memory_order_acquire);
}

// Looks for devices if nobody has yet; returns why there are none, or nothing.
std::string Wake(DeviceType type) {
  Backend* backend = BackendOf(type);
  MutexLock lock(&backend->mutex);
  if (FindDevicesFn find = backend->find) {
    backend->find = nullptr;
    const Maybe<void> found = find();
    if (!found.ok()) { backend->reason = found.error()->message(); }
  }
  return backend->reason;
}

}  // namespace

Maybe<Allocator*> GetAllocator(Device device) {
  if (Allocator* found = Find(device)) { return found; }
  const std::string reason = Wake(device.type());
  if (Allocator* found = Find(device)) { return found; }
  DieIfPlanted(Fault::kMissingGpuAborts, SIGABRT);
  if (!reason.empty()) {
    return RuntimeError("[device] expects a device of this machine, but {} is not available: {}",
                        device, reason);
  }
  if (device.type() == DeviceType::kCPU) {
    return RuntimeError(
        "[device] expects a device of this machine, but {} is not available: there is only cpu:0",
        device);
  }
  return RuntimeError("[device] expects a device of this machine, but {} is not available: this "
                      "machine has no such device",
                      device);
}

void RegisterAllocator(Device device, Allocator* allocator) {
  allocators[static_cast<int>(device.type())][device.index()].store(allocator,
                                                                    std::memory_order_release);
}

void RegisterDeviceBackend(DeviceType type, FindDevicesFn find) {
  Backend* backend = BackendOf(type);
  MutexLock lock(&backend->mutex);
  backend->find = find;
}

}  // namespace oneflow
