// A matrix multiplication inside another kernel: by oneDNN where it is the faster, else by the
// project's own loops, which widen bfloat16 first.
//
// Thread safety: pure functions; oneDNN's primitives are cached by thread. Ownership: borrows the
// operands. Blocking: waits for its own threads only.
#ifndef ONEFLOW_KERNELS_CPU_INNER_GEMM_H_
#define ONEFLOW_KERNELS_CPU_INNER_GEMM_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "oneflow/common/maybe.h"
#include "oneflow/kernels/cpu/matmul_problem.h"

namespace oneflow {
namespace cpu {

// c (m x n, rows `ldc` apart) = a (m x k) b (k x n), where each of a and b is row-major with rows
// `lda` (`ldb`) apart, or, transposed, column-major with columns that far apart.
struct InnerGemm {
  DataType dtype = DataType::kFloat;
  bool float_result = false;  // c is float32: for bfloat16, which REQUIRES it
  int64_t m = 0, n = 0, k = 0;
  int64_t lda = 0, ldb = 0, ldc = 0;
  bool transpose_a = false, transpose_b = false;
};

// Memory for one call of a kernel: the caller's scratch as far as it goes, else its own.
class GemmScratch {
 public:
  GemmScratch(void* data, size_t bytes) : data_(data), bytes_(bytes) {}
  GemmScratch(const GemmScratch&) = delete;
  GemmScratch& operator=(const GemmScratch&) = delete;

  // At least `bytes`, aligned to 64; nullptr without memory. What an earlier call gave is gone.
  void* Take(size_t bytes);

 private:
  struct Free {
    void operator()(void* p) const;
  };
  void* data_;
  size_t bytes_;
  std::unique_ptr<void, Free> own_;
};

size_t InnerGemmScratchBytes(const InnerGemm& gemm, int threads);
// With k == 0, c becomes zero.
Maybe<void> RunInnerGemm(const InnerGemm& gemm, const void* a, const void* b, void* c,
                         GemmScratch* scratch, int threads);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_INNER_GEMM_H_
