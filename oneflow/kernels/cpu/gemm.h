// Matrix multiplication by the project's own loops (gemm_loops.h).
//
// Thread safety: pure functions. Blocking: waits for its own threads only.
#ifndef ONEFLOW_KERNELS_CPU_GEMM_H_
#define ONEFLOW_KERNELS_CPU_GEMM_H_

#include <cstddef>

#include "oneflow/kernels/cpu/matmul_problem.h"

namespace oneflow {
namespace cpu {

bool GemmSupports(DataType dtype);
// Whether one operand is a vector: those products need no packing, and no library.
inline bool IsVectorProblem(const MatmulProblem& problem) {
  return problem.m == 1 || problem.n == 1;
}
// Scratch beside the packed operands: for each thread one b in panels.
size_t GemmScratchBytes(const MatmulProblem& problem, int threads);
// c = a b [+ bias (n)]; `panels` has GemmScratchBytes.
void RunGemm(const MatmulProblem& problem, const MatmulPointers& at, const void* bias, void* panels,
             int threads);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_GEMM_H_
