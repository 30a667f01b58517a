// The inner loops of the random kernels, one table for each instruction set.
//
// Element i of a call comes from block `block + i / 2` of the stream `seed`, number i % 2 of it.
// Every instruction set gives the same bits. Thread safety: constants.
#ifndef ONEFLOW_KERNELS_CPU_RANDOM_LOOPS_H_
#define ONEFLOW_KERNELS_CPU_RANDOM_LOOPS_H_

#include <cstdint>

#include "oneflow/core/dtype.h"
#include "oneflow/kernels/cpu/isa.h"

namespace oneflow {
namespace cpu {

// Normal: a = mean, b = standard deviation. Uniform in [a, b). Exponential: a = rate.
using RandomFn = void (*)(void* out, int64_t n, uint64_t seed, uint64_t block, double a, double b);

struct RandomLoops {
  RandomFn normal[kNumDataTypes];  // nullptr: dtype not supported
  RandomFn uniform[kNumDataTypes];
  RandomFn exponential[kNumDataTypes];
  // n numbers of 64 bits; a block's first word is the high half of its first number.
  void (*bits)(uint64_t* out, int64_t n, uint64_t seed, uint64_t block);
};

ONEFLOW_DECLARE_ISA_TABLE(RandomLoops, GetRandomLoops);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_RANDOM_LOOPS_H_
