// Stands in for cuda_backend.cc in builds without --config=cuda.
#include "oneflow/device/allocator.h"
#include "oneflow/device/cuda/cuda_backend.h"

namespace oneflow {

namespace {
Maybe<void> FindNothing() { return RuntimeError("this build has no CUDA support"); }
}  // namespace

void RegisterCudaBackend() { RegisterDeviceBackend(DeviceType::kCUDA, &FindNothing); }

}  // namespace oneflow
