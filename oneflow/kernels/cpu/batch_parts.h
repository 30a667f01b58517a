// A kernel call cut along dimension 0 of all its arrays, so that what DenseCall copies of a part stays in the last cache.
//
// For kernels that compute each image by itself. Thread safety: one object for each call, on the stack. Blocking: waits for
// its own threads.
#ifndef ONEFLOW_KERNELS_CPU_BATCH_PARTS_H_
#define ONEFLOW_KERNELS_CPU_BATCH_PARTS_H_

#include <cstddef>
#include <cstdint>

#include "oneflow/core/dims.h"
#include "oneflow/kernels/cpu/dense_call.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

// 1 where nothing is copied, or an array is not dense.
int64_t CountBatchParts(const KernelCall& call);

class BatchPart {
 public:
  // REQUIRES that `parts` is CountBatchParts(call). `call` outlives this.
  BatchPart(const KernelCall& call, int64_t parts, int64_t part);
  BatchPart(const BatchPart&) = delete;
  BatchPart& operator=(const BatchPart&) = delete;

  const KernelCall& call() const { return call_; }

 private:
  KernelCall call_;
  ArrayView views_[DenseCall::kMaxArrays];
  int64_t sizes_[DenseCall::kMaxArrays][kMaxDims];
};

// Runs body(dense call) for one part after the other.
template <typename Body>
Maybe<void> RunDenseByParts(const KernelCall& call, const Body& body) {
  const int64_t parts = CountBatchParts(call);
  if (parts == 1) { return RunDense(call, body); }
  for (int64_t i = 0; i < parts; ++i) {
    const BatchPart part(call, parts, i);
    Maybe<void> done = RunDense(part.call(), body);
    if (!done.ok()) { return done; }
  }
  return Ok();
}

// The scratch that RunDenseByParts wants, where scratch(call) is that of a call as a whole.
template <typename Scratch>
size_t ScratchByParts(const KernelCall& call, const Scratch& scratch) {
  const int64_t parts = CountBatchParts(call);
  return parts == 1 ? scratch(call) : scratch(BatchPart(call, parts, 0).call());
}

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_BATCH_PARTS_H_
