// The arithmetic of the GPU's add, on the host. For tests only. Thread safety: pure function.
#ifndef ONEFLOW_KERNELS_CUDA_ADD_ON_HOST_H_
#define ONEFLOW_KERNELS_CUDA_ADD_ON_HOST_H_

#include "oneflow/common/maybe.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cuda {

// As add.cuda.vector, over arrays in the host's memory.
Maybe<void> AddOnHost(const KernelCall& call);

}  // namespace cuda
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CUDA_ADD_ON_HOST_H_
