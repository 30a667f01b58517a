// The product of a recurrent layer's states with its weights, step after step.
//
// A row of a batch depends on its own earlier states only. So where the weights are small enough to be
// read by every thread, threads share out the rows, and each goes through all steps without waiting
// for another; the weights are brought into the order in which gemm_loops.h reads them once for all.
//
// Thread safety: a value; const members from anywhere. Ownership: borrows the packed weights.
#ifndef ONEFLOW_KERNELS_CPU_RNN_STEP_PRODUCT_H_
#define ONEFLOW_KERNELS_CPU_RNN_STEP_PRODUCT_H_

#include <cstddef>
#include <cstdint>

#include "oneflow/core/dtype.h"

namespace oneflow {
namespace cpu {

class StepProduct {
 public:
  // Weights are k x n.
  StepProduct(DataType dtype, int64_t k, int64_t n) : dtype_(dtype), k_(k), n_(n) {}

  // Whether threads that share out `batch` rows are the faster way through several steps.
  bool SharesRows(int64_t batch, int threads) const;
  // Of the packed weights.
  size_t Bytes() const;
  // Packs weights, whose strides are in elements, into `memory`, which is aligned to 64 bytes.
  void Pack(void* memory, const void* weights, int64_t row_stride, int64_t col_stride, int threads);
  // c (rows x n) = a (rows x k) weights, all dense. REQUIRES Pack().
  void Multiply(const char* a, char* c, int64_t rows) const;

 private:
  int64_t Width() const;  // columns of a panel

  DataType dtype_;
  int64_t k_, n_;
  const char* packed_ = nullptr;
};

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_RNN_STEP_PRODUCT_H_
