// The inner loop of depthwise convolution, one for each instruction set. Thread safety: constants.
#ifndef ONEFLOW_KERNELS_CPU_CONV_DEPTHWISE_LOOPS_H_
#define ONEFLOW_KERNELS_CPU_CONV_DEPTHWISE_LOOPS_H_

#include <cstdint>

#include "oneflow/kernels/cpu/isa.h"

namespace oneflow {
namespace cpu {

inline constexpr int64_t kDepthwiseLanes = 16;
inline constexpr int kMaxDepthwiseTaps = 49;

struct DepthwiseLoops {
  // out[i] = bias + sum over t of weight[t] * data[offset[t] + i], for i < n, a multiple of
  // kDepthwiseLanes.
  void (*line)(const float* data, const int64_t* offset, const float* weight, int taps, float bias,
               int64_t n, float* out);
};

ONEFLOW_DECLARE_ISA_TABLE(DepthwiseLoops, GetDepthwiseLoops);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_CONV_DEPTHWISE_LOOPS_H_
