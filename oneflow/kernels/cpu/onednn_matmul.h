// Matrix multiplication by oneDNN, float32: primitives are cached by their signature.
//
// Each thread keeps its own executable objects (oneDNN shares the generated code between them), at
// most kMaxCachedMatmuls of them, least recently used out first. They pass to another thread when
// theirs ends. Thread safety: all functions. No exception leaves this file; nothing throws here,
// because oneDNN is called by its C interface.
#ifndef ONEFLOW_KERNELS_CPU_ONEDNN_MATMUL_H_
#define ONEFLOW_KERNELS_CPU_ONEDNN_MATMUL_H_

#include <cstddef>

#include "oneflow/common/maybe.h"
#include "oneflow/kernels/cpu/matmul_problem.h"

namespace oneflow {
namespace cpu {

inline constexpr int kMaxCachedMatmuls = 256;

// c = a b [+ bias (n)] for one position of the outer dimensions. A handle is found once for a call
// and is good until the thread asks for the next one. nullptr: oneDNN does not serve the problem.
class OnednnMatmul;
OnednnMatmul* FindOnednnMatmul(const MatmulProblem& problem, bool has_bias, int threads);
size_t OnednnScratchBytes(const OnednnMatmul& matmul);
Maybe<void> ExecuteOnednn(OnednnMatmul* matmul, const MatmulPointers& at, const void* bias,
                          void* scratch);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_ONEDNN_MATMUL_H_
