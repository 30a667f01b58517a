#include "oneflow/device/cuda/cuda_error.h"

namespace oneflow {
namespace cuda {

namespace {

ErrorKind KindOf(cudaError_t status) {
  switch (status) {
    case cudaErrorMemoryAllocation: return ErrorKind::kOutOfMemory;
    case cudaErrorCompatNotSupportedOnDevice:
    case cudaErrorDeviceUninitialized:
    case cudaErrorDevicesUnavailable:
    case cudaErrorECCUncorrectable:
    case cudaErrorHardwareStackError:
    case cudaErrorInitializationError:
    case cudaErrorInsufficientDriver:
    case cudaErrorNoDevice:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorSystemNotReady:
    case cudaErrorUnsupportedPtxVersion: return ErrorKind::kEnvironment;
    default: return ErrorKind::kInternal;
  }
}

}  // namespace

Maybe<void> CheckCuda(cudaError_t status, const char* call) {
  if (__builtin_expect(status == cudaSuccess, 1)) { return Ok(); }
  static_cast<void>(cudaGetLastError());
  return MakeIntrusive<Error>(KindOf(status),
                              Format("[cuda] {} failed: {} ({})", call, cudaGetErrorString(status),
                                     cudaGetErrorName(status)));
}

}  // namespace cuda
}  // namespace oneflow
