// CudaStream: a queue of work on one GPU, and its place on the StreamClock.
//
// Thread safety: none; one thread issues. Blocking: only Wait() does. Ownership: owns the CUDA
// stream; destroying it does not wait for what is queued.
// Happens-before: a point given to Advance() passes after everything that was queued before it has
// run, on a thread of the CUDA runtime.
#ifndef ONEFLOW_DEVICE_CUDA_CUDA_STREAM_H_
#define ONEFLOW_DEVICE_CUDA_CUDA_STREAM_H_

#include <memory>

#include "oneflow/common/maybe.h"
#include "oneflow/core/device.h"
#include "oneflow/device/stream_clock.h"

namespace oneflow {
namespace cuda {

class CudaStream {
 public:
  static Maybe<std::unique_ptr<CudaStream>> Create(Device device);
  ~CudaStream();
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  Device device() const { return device_; }
  // A cudaStream_t: KernelCall::native_stream.
  void* native() const { return native_; }

  Maybe<void> Advance(StreamPoint point);
  // Until all is done; an error is what a kernel on this device did wrong.
  Maybe<void> Wait();

 private:
  CudaStream(Device device, void* native) : device_(device), native_(native) {}

  const Device device_;
  void* const native_;
};

}  // namespace cuda
}  // namespace oneflow

#endif  // ONEFLOW_DEVICE_CUDA_CUDA_STREAM_H_
