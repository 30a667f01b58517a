#include "oneflow/device/cuda/cuda_stream.h"

#include <cuda_runtime_api.h>

#include "oneflow/device/cuda/cuda_device.h"
#include "oneflow/device/cuda/cuda_error.h"

namespace oneflow {
namespace cuda {

namespace {

cudaStream_t Stream(void* native) { return static_cast<cudaStream_t>(native); }

// On a thread of the runtime, which must not call CUDA.
void Pass(void* point) {
  const std::unique_ptr<StreamPoint> passed(static_cast<StreamPoint*>(point));
  StreamClock::Advance(passed->stream, passed->seq);
}

}  // namespace

Maybe<std::unique_ptr<CudaStream>> CudaStream::Create(Device device) {
  const ScopedDevice current(device.index());
  JUST(current.status());
  cudaStream_t made = nullptr;
  // Not ordered against the legacy default stream, which others in the process may use.
  JUST(CheckCuda(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "cudaStreamCreate"));
  return std::unique_ptr<CudaStream>(new CudaStream(device, made));
}

CudaStream::~CudaStream() {
  const ScopedDevice current(device_.index());
  static_cast<void>(CheckCuda(cudaStreamDestroy(Stream(native_)), "cudaStreamDestroy"));
}

Maybe<void> CudaStream::Advance(StreamPoint point) {
  auto passed = std::make_unique<StreamPoint>(point);
  JUST(CheckCuda(cudaLaunchHostFunc(Stream(native_), &Pass, passed.get()), "cudaLaunchHostFunc"));
  static_cast<void>(passed.release());
  return Ok();
}

Maybe<void> CudaStream::Wait() {
  return CheckCuda(cudaStreamSynchronize(Stream(native_)), "cudaStreamSynchronize");
}

}  // namespace cuda
}  // namespace oneflow
