// DenseKernel: a kernel written for dense operands of one computing dtype, made to serve all.
//
// Most kernels of networks (norms, losses, embeddings) walk whole rows. They are written once, for
// dense operands where every floating operand has the computing dtype (float64 if the first
// floating operand is float64, else float32) and every integer operand is int64 (bool and uint8
// stay as they are). What comes otherwise (float16, bfloat16, strided) is packed into scratch
// first, and results are put where they belong afterwards.
//
// Thread safety: pure functions. Blocking: waits for its own threads only.
#ifndef ONEFLOW_KERNELS_CPU_DENSE_KERNEL_H_
#define ONEFLOW_KERNELS_CPU_DENSE_KERNEL_H_

#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

struct DenseKernel {
  KernelFn run;
  KernelCostFn cost = nullptr;        // sees the call as it came
  KernelScratchFn scratch = nullptr;  // sees dense operands
  KernelAcceptFn accepts = nullptr;   // sees the call as it came; beside the check of dtypes
};

namespace dense_kernel_detail {
Maybe<void> Run(const DenseKernel& kernel, const KernelCall& call);
size_t ScratchBytes(const DenseKernel& kernel, const KernelCall& call);
const char* Accept(const DenseKernel& kernel, const KernelCall& call);
}  // namespace dense_kernel_detail

template <const DenseKernel& kKernel>
Maybe<void> RunDenseKernel(const KernelCall& call) {
  return dense_kernel_detail::Run(kKernel, call);
}
template <const DenseKernel& kKernel>
size_t DenseKernelScratchBytes(const KernelCall& call) {
  return dense_kernel_detail::ScratchBytes(kKernel, call);
}
template <const DenseKernel& kKernel>
const char* AcceptDenseKernel(const KernelCall& call) {
  return dense_kernel_detail::Accept(kKernel, call);
}

// At namespace scope, with a DenseKernel of static storage:
//   constexpr DenseKernel kSoftmax = {&Run, &Cost};
//   ONEFLOW_REGISTER_DENSE_KERNEL(softmax, "softmax.cpu.vector", kSoftmax);
#define ONEFLOW_REGISTER_DENSE_KERNEL(id, name, kernel)                                   \
  ONEFLOW_REGISTER_KERNEL(id, {name, &RunDenseKernel<kernel>, &AcceptDenseKernel<kernel>, \
                               kernel.cost, &DenseKernelScratchBytes<kernel>})

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_DENSE_KERNEL_H_
