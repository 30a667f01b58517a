#include "oneflow/device/cuda/cuda_device.h"

#include <cuda_runtime_api.h>

#include "oneflow/device/cuda/cuda_error.h"

namespace oneflow {
namespace cuda {

Maybe<int> CountDevices() {
  int driver = 0;  // stays 0 where there is no driver, which the runtime reports as one too old
  JUST(CheckCuda(cudaDriverGetVersion(&driver), "cudaDriverGetVersion"));
  if (driver == 0) { return EnvironmentError("this machine has no CUDA driver"); }
  if (driver / 1000 < CUDART_VERSION / 1000) {
    return EnvironmentError("the CUDA driver supports CUDA {}.{}, this build needs {}",
                            driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000);
  }
  int count = 0;
  JUST(CheckCuda(cudaGetDeviceCount(&count), "cudaGetDeviceCount"));
  if (count == 0) { return EnvironmentError("this machine has no CUDA device"); }
  return count;
}

namespace {

Maybe<void> Switch(int index, int* before) {
  int current = -1;
  JUST(CheckCuda(cudaGetDevice(&current), "cudaGetDevice"));
  if (current == index) { return Ok(); }
  JUST(CheckCuda(cudaSetDevice(index), "cudaSetDevice"));
  *before = current;
  return Ok();
}

}  // namespace

ScopedDevice::ScopedDevice(int index) : status_(Switch(index, &before_)) {}

ScopedDevice::~ScopedDevice() {
  if (before_ >= 0) { static_cast<void>(cudaSetDevice(before_)); }
}

}  // namespace cuda
}  // namespace oneflow
