// Runs a functor over the elements of two arrays on the GPU.
//
// A functor is a trivially copyable struct with `T operator()(T x, T y) const`, for host and device.
// Thread safety: pure functions. Blocking: none; the work is queued on `stream`, of the calling
// thread's current device.
#ifndef ONEFLOW_KERNELS_CUDA_ELEMENTWISE_CUH_
#define ONEFLOW_KERNELS_CUDA_ELEMENTWISE_CUH_

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "oneflow/common/maybe.h"
#include "oneflow/device/cuda/cuda_error.h"
#include "oneflow/kernels/cuda/strided_plan.h"

namespace oneflow {
namespace cuda {

// Element number i of the plan, in operand k, as an offset from its data.
struct ElementOffsets {
  int64_t of[kMaxPlanOperands] = {};
};

// Index is uint32_t where it can be: a 64-bit division takes a GPU ten times as long.
template <typename Index>
__host__ __device__ inline ElementOffsets OffsetsAt(const StridedPlan& plan, Index i) {
  ElementOffsets offsets;
  for (int d = 0; d < plan.ndim; ++d) {
    const auto size = static_cast<Index>(plan.sizes[d]);
    const Index quotient = i / size;
    const auto at = static_cast<int64_t>(i - quotient * size);
    for (int k = 0; k < kMaxPlanOperands; ++k) { offsets.of[k] += at * plan.strides[k][d]; }
    i = quotient;
  }
  return offsets;
}

// One dimension: dense operands, and such that repeat one element.
template <typename T, typename Op>
__global__ void DenseBinaryKernel(T* out, const T* x, const T* y, int64_t n, int64_t out_step,
                                  int64_t x_step, int64_t y_step, Op op) {
  const int64_t threads = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += threads) {
    out[i * out_step] = op(x[i * x_step], y[i * y_step]);
  }
}

template <typename Index, typename T, typename Op>
__global__ void StridedBinaryKernel(T* out, const T* x, const T* y,
                                    const __grid_constant__ StridedPlan plan, Op op) {
  const uint64_t threads = static_cast<uint64_t>(gridDim.x) * blockDim.x;
  const auto n = static_cast<uint64_t>(plan.total);
  for (uint64_t i = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += threads) {
    const ElementOffsets at = OffsetsAt<Index>(plan, static_cast<Index>(i));
    out[at.of[0]] = op(x[at.of[1]], y[at.of[2]]);
  }
}

template <typename T, typename Op>
Maybe<void> LaunchBinary(const StridedPlan& plan, T* out, const T* x, const T* y, Op op,
                         cudaStream_t stream) {
  constexpr int64_t kThreads = 256;
  constexpr int64_t kMaxBlocks = 1 << 16;  // enough to fill any GPU; threads take several elements
  if (plan.total == 0) { return Ok(); }
  const auto blocks =
      static_cast<unsigned>(std::min((plan.total + kThreads - 1) / kThreads, kMaxBlocks));
  if (plan.ndim <= 1) {
    const bool one = plan.ndim == 0;
    DenseBinaryKernel<<<blocks, kThreads, 0, stream>>>(
        out, x, y, plan.total, one ? 0 : plan.strides[0][0], one ? 0 : plan.strides[1][0],
        one ? 0 : plan.strides[2][0], op);
  } else if (plan.total <= INT32_MAX) {
    StridedBinaryKernel<uint32_t><<<blocks, kThreads, 0, stream>>>(out, x, y, plan, op);
  } else {
    StridedBinaryKernel<uint64_t><<<blocks, kThreads, 0, stream>>>(out, x, y, plan, op);
  }
  return CheckCuda(cudaGetLastError(), "launching a kernel");
}

}  // namespace cuda
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CUDA_ELEMENTWISE_CUH_
