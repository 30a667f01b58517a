// The pixels that a pointwise convolution with a stride reads: one with stride 1 over them alone is
// the same, and moves a fraction of the memory.
//
// Thread safety: pure functions. Blocking: they wait for their own threads only.
#ifndef ONEFLOW_KERNELS_CPU_CONV_SAMPLED_PIXELS_H_
#define ONEFLOW_KERNELS_CPU_CONV_SAMPLED_PIXELS_H_

#include <cstddef>

#include "oneflow/kernels/cpu/conv/onednn_conv.h"

namespace oneflow {
namespace cpu {

// Of images in planes, in one group.
bool ReadsSampledPixels(const ConvProblem& problem);
// The same problem over the sampled pixels, with stride 1.
ConvProblem OverSampledPixels(const ConvProblem& problem);
size_t SampledPixelBytes(const ConvProblem& problem);  // a multiple of 64

// samples = the sampled pixels of src.
void SamplePixels(const ConvProblem& problem, const void* src, void* samples);
// src = samples where they come from, zero elsewhere.
void SpreadSamples(const ConvProblem& problem, const void* samples, void* src);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_CONV_SAMPLED_PIXELS_H_
