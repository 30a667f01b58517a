// The inner loops of dropout, one table for each instruction set.
//
// Run i comes from word i % 4 of block `block + i / 4` of the stream `seed`, the same on every
// instruction set. Thread safety: constants.
#ifndef ONEFLOW_KERNELS_CPU_DROPOUT_DROPOUT_LOOPS_H_
#define ONEFLOW_KERNELS_CPU_DROPOUT_DROPOUT_LOOPS_H_

#include <cstdint>

#include "oneflow/kernels/cpu/isa.h"

namespace oneflow {
namespace cpu {

template <typename T>
struct DropoutLoops {
  // y[i] = x[i] * (mask[i] ? scale : 0) [+ addend[i]]
  void (*apply)(const T* x, const uint8_t* mask, const T* addend, T* y, int64_t n, T scale);
};

struct DropoutLoopTable {
  // mask[i] = 1 where the word is at least `threshold`.
  void (*mask)(uint8_t* mask, int64_t n, uint64_t seed, uint64_t block, uint32_t threshold);
  DropoutLoops<float> single;
  DropoutLoops<double> twice;
};

ONEFLOW_DECLARE_ISA_TABLE(DropoutLoopTable, GetDropoutLoopTable);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_DROPOUT_DROPOUT_LOOPS_H_
