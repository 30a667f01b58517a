// The inverse of one matrix, compiled for each instruction set.
//
// Thread safety: constants.
#ifndef ONEFLOW_KERNELS_CPU_LINALG_INVERSE_LOOPS_H_
#define ONEFLOW_KERNELS_CPU_LINALG_INVERSE_LOOPS_H_

#include <cstdint>

#include "oneflow/kernels/cpu/isa.h"

namespace oneflow {
namespace cpu {

// Inverts the dense n x n matrix `a` in place by Gauss and Jordan's elimination with partial pivoting;
// `pivots` has room for n. Returns -1, or the column in which no pivot was found: it is singular.
using InvertFn = int64_t (*)(double* a, int64_t* pivots, int64_t n);

struct InverseLoops {
  InvertFn invert;
};

ONEFLOW_DECLARE_ISA_TABLE(InverseLoops, GetInverseLoops);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_LINALG_INVERSE_LOOPS_H_
