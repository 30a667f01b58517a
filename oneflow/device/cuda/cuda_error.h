// CheckCuda: a status of the CUDA runtime as a Maybe. The one place that knows what a status means.
//
// Thread safety: all. Never throws.
#ifndef ONEFLOW_DEVICE_CUDA_CUDA_ERROR_H_
#define ONEFLOW_DEVICE_CUDA_CUDA_ERROR_H_

#include <cuda_runtime_api.h>

#include "oneflow/common/maybe.h"

namespace oneflow {
namespace cuda {

// `call` is what was called, for the message. Out of memory and failures of the machine (no driver,
// no device, a device that broke) have kinds of their own; everything else is a bug of ours. A
// failure also ends the runtime's own memory of it, so that the next check does not see it again.
Maybe<void> CheckCuda(cudaError_t status, const char* call);

}  // namespace cuda
}  // namespace oneflow

#endif  // ONEFLOW_DEVICE_CUDA_CUDA_ERROR_H_
