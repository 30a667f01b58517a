// CudaMemory: memory of one GPU, from the CUDA runtime.
//
// Thread safety: the caller locks (the pool does).
#ifndef ONEFLOW_DEVICE_CUDA_CUDA_MEMORY_H_
#define ONEFLOW_DEVICE_CUDA_CUDA_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "oneflow/device/cuda/device_memory.h"

namespace oneflow {
namespace cuda {

class CudaMemory final : public DeviceMemory {
 public:
  explicit CudaMemory(int index) : index_(index) {}

  Maybe<void*> Take(size_t bytes) override;
  void Give(void* data) override;
  int64_t TotalBytes() const override;

 private:
  const int index_;
};

}  // namespace cuda
}  // namespace oneflow

#endif  // ONEFLOW_DEVICE_CUDA_CUDA_MEMORY_H_
