// fused_batch_norm and its gradients where channels lie in blocks of 16: (N, C / 16, H, W, 16), float32.
//
// A thread works on one block after the other, so that what a block needs is still in the last cache for the next pass
// over it. Sums are cut by the shape alone. Thread safety: pure functions. Blocking: waits for its own threads only.
#ifndef ONEFLOW_KERNELS_CPU_NORM_BLOCK_BATCH_NORM_H_
#define ONEFLOW_KERNELS_CPU_NORM_BLOCK_BATCH_NORM_H_

#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

// REQUIRES dense operands. `streams`: results are written past the caches.
void NormalizeBlocks(const KernelCall& call, bool streams);
void BlockGradients(const KernelCall& call, bool streams);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_NORM_BLOCK_BATCH_NORM_H_
