// Copies an array into another of the same shape: any strides, any pair of dtypes.
//
// Thread safety: pure functions. Blocking: waits for its own threads only.
#ifndef ONEFLOW_KERNELS_CPU_COPY_H_
#define ONEFLOW_KERNELS_CPU_COPY_H_

#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

// `from` broadcasts to `to`.
void CopyArray(const ArrayView& to, const ArrayView& from, int threads);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_COPY_H_
