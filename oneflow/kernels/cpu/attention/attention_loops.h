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
  bool is_bfloat16 = false;  // numbers, of another dtype than the scores
};

// Scores and weights of a query: of its n keys it sees those before `valid`.
struct ScoreRow {
  void* scores = nullptr;
  int64_t valid = 0, n = 0;
  double scale = 1.0;
  MaskRow mask;
  const uint8_t* kept = nullptr;  // whether dropout keeps a weight; nullptr: all
};

// scores[0, valid) become exp(scale * scores + mask - max), and 0 where they are dropped; the rest up to
// n becomes 0. Returns the sum before any was dropped, and in *max the largest; a row that sees nothing
// is all 0, with sum 0.
using AttentionSoftmaxFn = double (*)(const ScoreRow& row, double* max);
// w = exp(scale * scores + mask - log_sum), f = factor where it is kept, else 0: scores become w f, and
// d[i] = w (f d[i] - dot) scale; both 0 from `valid` on.
using AttentionGradientFn = void (*)(const ScoreRow& row, void* d, double log_sum, double dot,
                                     double factor);
// row[i] *= factor.
using ScaleRowFn = void (*)(void* row, int64_t n, double factor);
// The sum of a[i] * b[i].
using DotRowFn = double (*)(const void* a, const void* b, int64_t n);
// to[i] += from[i].
using AddRowFn = void (*)(void* to, const void* from, int64_t n);

struct AttentionLoops {  // nullptr: dtype not supported
  AttentionSoftmaxFn softmax[kNumDataTypes];
  AttentionGradientFn gradient[kNumDataTypes];
  ScaleRowFn scale[kNumDataTypes];
  DotRowFn dot[kNumDataTypes];  // also of bfloat16, added up in float32
  AddRowFn add[kNumDataTypes];
};

ONEFLOW_DECLARE_ISA_TABLE(AttentionLoops, GetAttentionLoops);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_ATTENTION_ATTENTION_LOOPS_H_
