// Convolutions of bfloat16 by kernels of one pixel as products of matrices, whose operands are packed a few columns at a time:
// nothing is laid out anew in memory.
//
// Thread safety: pure functions. Blocking: waits for its own threads only.
#ifndef ONEFLOW_KERNELS_CPU_CONV_POINTWISE_DOTS_H_
#define ONEFLOW_KERNELS_CPU_CONV_POINTWISE_DOTS_H_

#include <cstddef>

#include "oneflow/kernels/cpu/conv/onednn_conv.h"

namespace oneflow {
namespace cpu {

// Is the problem a forward convolution, or a gradient by the input, with stride 1 and of plain arrays?
bool IsPointwiseDots(const ConvProblem& problem);
// REQUIRES IsPointwiseDots.
size_t PointwiseDotsScratchBytes(const ConvProblem& problem);
void RunPointwiseDots(const ConvProblem& problem, const ConvPointers& at, void* scratch);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_CONV_POINTWISE_DOTS_H_
