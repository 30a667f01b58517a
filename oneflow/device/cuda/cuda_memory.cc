#include "oneflow/device/cuda/cuda_memory.h"

#include <cuda_runtime_api.h>

#include "oneflow/device/cuda/cuda_device.h"
#include "oneflow/device/cuda/cuda_error.h"

namespace oneflow {
namespace cuda {

Maybe<void*> CudaMemory::Take(size_t bytes) {
  const ScopedDevice device(index_);
  JUST(device.status());
  void* data = nullptr;
  JUST(CheckCuda(cudaMalloc(&data, bytes), "cudaMalloc"));
  return data;
}

// A failure here is one of the device, which whoever uses it next is told.
void CudaMemory::Give(void* data) {
  const ScopedDevice device(index_);
  static_cast<void>(CheckCuda(cudaFree(data), "cudaFree"));
}

int64_t CudaMemory::TotalBytes() const {
  const ScopedDevice device(index_);
  size_t left = 0;
  size_t total = 0;
  const Maybe<void> asked = CheckCuda(cudaMemGetInfo(&left, &total), "cudaMemGetInfo");
  return asked.ok() ? static_cast<int64_t>(total) : 0;
}

}  // namespace cuda
}  // namespace oneflow
