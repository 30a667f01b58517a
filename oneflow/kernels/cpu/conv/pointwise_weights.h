// The gradient by the weight of a pointwise convolution of bfloat16 with stride 1, as a product of matrices summed in float32.
//
// Thread safety: pure functions. Blocking: waits for its own threads only.
#ifndef ONEFLOW_KERNELS_CPU_CONV_POINTWISE_WEIGHTS_H_
#define ONEFLOW_KERNELS_CPU_CONV_POINTWISE_WEIGHTS_H_

#include <cstddef>

#include "oneflow/kernels/cpu/conv/onednn_conv.h"

namespace oneflow {
namespace cpu {

bool IsPointwiseWeights(const ConvProblem& problem);
// REQUIRES IsPointwiseWeights.
size_t PointwiseWeightsScratchBytes(const ConvProblem& problem);
void RunPointwiseWeights(const ConvProblem& problem, const ConvPointers& at, void* scratch);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_CONV_POINTWISE_WEIGHTS_H_
