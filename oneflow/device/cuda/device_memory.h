// DeviceMemory: where a pool's blocks come from. CUDA's own (cuda_memory.h), or a test's.
//
// Thread safety: the caller locks.
#ifndef ONEFLOW_DEVICE_CUDA_DEVICE_MEMORY_H_
#define ONEFLOW_DEVICE_CUDA_DEVICE_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "oneflow/common/maybe.h"

namespace oneflow {
namespace cuda {

class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  // Aligned to 256 bytes. An error of kind kOutOfMemory: the device has no room.
  virtual Maybe<void*> Take(size_t bytes) = 0;
  // May wait until the device is idle. REQUIRES that nothing queued uses the memory.
  virtual void Give(void* data) = 0;
  // All that the device has, in use or not; 0 when it cannot be asked.
  virtual int64_t TotalBytes() const = 0;
};

}  // namespace cuda
}  // namespace oneflow

#endif  // ONEFLOW_DEVICE_CUDA_DEVICE_MEMORY_H_
