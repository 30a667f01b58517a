// Convolution by the project's own loops, through columns: float64, and what oneDNN does not serve.
//
// Thread safety: pure functions. Blocking: waits for its own threads only.
#ifndef ONEFLOW_KERNELS_CPU_CONV_CONV_GEMM_H_
#define ONEFLOW_KERNELS_CPU_CONV_CONV_GEMM_H_

#include <cstddef>

#include "oneflow/common/maybe.h"
#include "oneflow/kernels/cpu/conv/conv_geometry.h"

namespace oneflow {
namespace cpu {

// Any layout, any floating dtype (16-bit ones are computed in float32).
size_t ConvGemmScratch(ConvKind kind, const KernelCall& call);
Maybe<void> RunConvGemm(ConvKind kind, const KernelCall& call);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_CONV_CONV_GEMM_H_
