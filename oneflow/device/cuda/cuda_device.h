// The GPUs of this machine, and which of them a thread speaks to.
//
// The first call opens the driver's library. Without one, every call gives an error and nothing else
// happens. Thread safety: all; ScopedDevice changes its own thread only.
#ifndef ONEFLOW_DEVICE_CUDA_CUDA_DEVICE_H_
#define ONEFLOW_DEVICE_CUDA_CUDA_DEVICE_H_

#include "oneflow/common/maybe.h"

namespace oneflow {
namespace cuda {

// At least 1; an EnvironmentError says why there is none.
Maybe<int> CountDevices();

// Makes `index` this thread's device for its life.
class ScopedDevice {
 public:
  explicit ScopedDevice(int index);
  ~ScopedDevice();
  ScopedDevice(const ScopedDevice&) = delete;
  ScopedDevice& operator=(const ScopedDevice&) = delete;

  // Whether it could.
  Maybe<void> status() const { return status_; }

 private:
  int before_ = -1;
  Maybe<void> status_;
};

}  // namespace cuda
}  // namespace oneflow

#endif  // ONEFLOW_DEVICE_CUDA_CUDA_DEVICE_H_
