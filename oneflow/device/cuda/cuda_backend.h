// How GPUs come into the runtime.
//
// Thread safety: called once, by boot. In a build without --config=cuda the same function offers
// nothing but the reason.
#ifndef ONEFLOW_DEVICE_CUDA_CUDA_BACKEND_H_
#define ONEFLOW_DEVICE_CUDA_CUDA_BACKEND_H_

namespace oneflow {

// Offers cuda:0, cuda:1, ... to GetAllocator(). The driver is touched at the first use of a CUDA
// device, not here: starting the runtime opens no library, and costs nothing.
void RegisterCudaBackend();

}  // namespace oneflow

#endif  // ONEFLOW_DEVICE_CUDA_CUDA_BACKEND_H_
