// The inner loops of resampling, one table for each instruction set. Thread safety: constants.
#ifndef ONEFLOW_KERNELS_CPU_VISION_RESAMPLE_LOOPS_H_
#define ONEFLOW_KERNELS_CPU_VISION_RESAMPLE_LOOPS_H_

#include <cstdint>

#include "oneflow/kernels/cpu/isa.h"

namespace oneflow {
namespace cpu {

// Result o is the sum over t of weight[t * out + o] * line[index[t * out + o]].
template <typename T>
struct LineTaps {
  int taps;
  int64_t out;
  const int32_t* index;
  const T* weight;
};

template <typename T>
struct ResampleLoopsOf {
  // line = factor * row; line += factor * row.
  void (*scale)(const T* row, T factor, T* line, int64_t n);
  void (*add_scaled)(const T* row, T factor, T* line, int64_t n);
  void (*gather)(const T* line, const LineTaps<T>& taps, T* out);
  // The transpose of gather: adds into the line.
  void (*scatter)(const T* from, const LineTaps<T>& taps, T* line);
};

struct ResampleLoops {
  ResampleLoopsOf<float> single;
  ResampleLoopsOf<double> wide;
};

ONEFLOW_DECLARE_ISA_TABLE(ResampleLoops, GetResampleLoops);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_VISION_RESAMPLE_LOOPS_H_
