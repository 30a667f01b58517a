#include "oneflow/device/cuda/cuda_backend.h"

#include <algorithm>
#include <memory>

#include "oneflow/device/allocator.h"
#include "oneflow/device/cuda/cuda_allocator.h"
#include "oneflow/device/cuda/cuda_device.h"
#include "oneflow/device/cuda/cuda_memory.h"
#include "oneflow/lifetime/fork_hooks.h"

namespace oneflow {

namespace {

void AddDevice(int index) {
  const Device device(DeviceType::kCUDA, index);
  // Leaked on purpose: tensors may be freed after everything else has ended.
  auto* pool = new cuda::CudaAllocator(device, std::make_unique<cuda::CudaMemory>(index));
  lifetime::RegisterForkHooks(lifetime::ForkOrder::kPool,
                              {[pool] { pool->LockForFork(); }, [pool] { pool->UnlockAfterFork(); },
                               [pool] {
                                 pool->AbandonInChild();
                                 pool->UnlockAfterFork();
                               }});
  RegisterAllocator(device, pool);
}

Maybe<void> FindDevices() {
  if (lifetime::InForkChild()) {
    return RuntimeError("CUDA cannot be used in a forked process; start it with spawn");
  }
  const int count = std::min(JUST(cuda::CountDevices()), kMaxDevicesPerType);
  for (int i = 0; i < count; ++i) { AddDevice(i); }
  return Ok();
}

}  // namespace

void RegisterCudaBackend() { RegisterDeviceBackend(DeviceType::kCUDA, &FindDevices); }

}  // namespace oneflow
