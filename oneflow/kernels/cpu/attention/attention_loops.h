// The rows of scaled dot product attention, one table for each instruction set.
//
// Sums are taken in a fixed number of lanes, so that every instruction set gives the same bits.
// Thread safety: constants.
#ifndef ONEFLOW_KERNELS_CPU_ATTENTION_ATTENTION_LOOPS_H_
#define ONEFLOW_KERNELS_CPU_ATTENTION_ATTENTION_LOOPS_H_

#include <cstdint>

#include "oneflow/core/dtype.h"
#include "oneflow/kernels/cpu/isa.h"

namespace oneflow {
namespace cpu {

// A row of the mask: numbers that are added to the scores, or bools that say what is seen.
struct MaskRow {
  const void* data = nullptr;  // nullptr: no mask
  int64_t stride = 0;          // 1, or 0 where one entry serves all
  bool is_bool = false;
};

// scores[0, valid) become exp(scale * scores + mask - max); the rest up to n becomes 0. Returns the
// sum, and in *max the largest; a row that sees nothing is all 0, with sum 0.
using AttentionSoftmaxFn = double (*)(void* scores, int64_t valid, int64_t n, double scale,
                                      const MaskRow& mask, double* max);
// scores[0, valid) become exp(scale * scores + mask - log_sum), the rest up to n 0.
using AttentionWeightsFn = void (*)(void* scores, int64_t valid, int64_t n, double scale,
                                    const MaskRow& mask, double log_sum);
// d[i] = weights[i] * (d[i] - dot) * scale.
using AttentionScoresGradFn = void (*)(const void* weights, void* d, int64_t n, double dot,
                                       double scale);
// row[i] *= factor.
using ScaleRowFn = void (*)(void* row, int64_t n, double factor);
// The sum of a[i] * b[i].
using DotRowFn = double (*)(const void* a, const void* b, int64_t n);
// to[i] += from[i].
using AddRowFn = void (*)(void* to, const void* from, int64_t n);

struct AttentionLoops {  // nullptr: dtype not supported
  AttentionSoftmaxFn softmax[kNumDataTypes];
  AttentionWeightsFn weights[kNumDataTypes];
  AttentionScoresGradFn scores_grad[kNumDataTypes];
  ScaleRowFn scale[kNumDataTypes];
  DotRowFn dot[kNumDataTypes];
  AddRowFn add[kNumDataTypes];
};

ONEFLOW_DECLARE_ISA_TABLE(AttentionLoops, GetAttentionLoops);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_ATTENTION_ATTENTION_LOOPS_H_
