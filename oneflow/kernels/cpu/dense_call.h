// DenseCall: a kernel call whose operands are dense, and float32 where they were of 16 bits.
//
// Kernels with loops for dense float32 and float64 (and integers) serve every layout and the short
// floating dtypes through it: operands are copied into the caller's scratch, and results back.
// dense_kernel.h registers whole kernels that way.
//
// Thread safety: one object for each call, on the stack. Blocking: waits for its own threads.
#ifndef ONEFLOW_KERNELS_CPU_DENSE_CALL_H_
#define ONEFLOW_KERNELS_CPU_DENSE_CALL_H_

#include <cstddef>

#include "oneflow/core/dims.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

// What a kernel can do without copies.
struct DensePolicy {
  bool keeps_bfloat16 = false;
  bool keeps_dtypes = false;                              // the 16-bit ones stay as they are
  bool (*keeps_layout)(const ArrayView& view) = nullptr;  // nullptr: dense only
  // Floating operands as `computing`, integers but bool and uint8 as int64, whatever they were.
  bool converts = false;
  DataType computing = DataType::kFloat;
};

class DenseCall {
 public:
  static constexpr int kMaxArrays = 16;

  // Scratch for the copies; a kernel adds its own. REQUIRES at most kMaxArrays operands and results.
  static size_t ScratchBytes(const KernelCall& call, const DensePolicy& policy = DensePolicy());
  // Is there anything to copy?
  static bool Copies(const KernelCall& call, const DensePolicy& policy = DensePolicy());

  // Says where copies go; nothing is read or written. `call` outlives this.
  explicit DenseCall(const KernelCall& call, const DensePolicy& policy = DensePolicy());
  DenseCall(const DenseCall&) = delete;
  DenseCall& operator=(const DenseCall&) = delete;

  // The same call over dense operands; its scratch is what the copies leave.
  const KernelCall& call() const { return dense_; }
  // Copies the operands that have to be copied.
  void Start() const;
  // Copies the results to where the caller wants them.
  void Finish() const;

 private:
  const KernelCall& original_;
  const DensePolicy policy_;
  KernelCall dense_;
  ArrayView views_[kMaxArrays];
  Dims strides_[kMaxArrays];
};

// Runs body(dense call), which returns a Maybe<void>.
template <typename Body>
Maybe<void> RunDense(const KernelCall& call, const Body& body,
                     const DensePolicy& policy = DensePolicy()) {
  if (!DenseCall::Copies(call, policy)) { return body(call); }
  const DenseCall dense(call, policy);
  dense.Start();
  Maybe<void> done = body(dense.call());
  if (done.ok()) { dense.Finish(); }
  return done;
}

// nullptr where all floating operands and results are of one dtype: a kernel's `accepts`.
const char* AcceptOneFloatingDtype(const KernelCall& call);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_DENSE_CALL_H_
