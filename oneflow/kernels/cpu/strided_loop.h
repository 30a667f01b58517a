// StridedLoop: visits the elements of up to four arrays together, as few, long runs.
//
// Operand 0 gives the shape; the others broadcast to it (stride 0 where they repeat). Dimensions of
// size 1 go, the rest is sorted by the stride of operand 0 and merged where all operands allow, so
// that a dense or transposed-alike call becomes one run. The body sees runs along the innermost
// dimension, at most kGrain elements each.
//
// Threads: runs are cut from fixed chunks of kGrain elements of the visiting order, whatever the
// number of threads. Thread safety: Run() is const. Ownership: borrows the data for its life.
#ifndef ONEFLOW_KERNELS_CPU_STRIDED_LOOP_H_
#define ONEFLOW_KERNELS_CPU_STRIDED_LOOP_H_

#include <cstdint>

#include "oneflow/core/dims.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

inline constexpr int kMaxLoopOperands = 4;

// n elements of each operand; strides in bytes.
struct LoopRun {
  char* data[kMaxLoopOperands];
  int64_t strides[kMaxLoopOperands];
  int64_t n;
};
using LoopBody = void (*)(const LoopRun& run, const void* context);

class StridedLoop {
 public:
  static constexpr int64_t kGrain = 32768;

  // REQUIRES that operands[1..] broadcast to operands[0].
  StridedLoop(const ArrayView* const* operands, int count);

  int64_t total() const { return total_; }
  int ndim() const { return ndim_; }
  // Dimension 0 is the innermost. Strides in bytes.
  int64_t size(int dim) const { return sizes_[dim]; }
  int64_t stride(int operand, int dim) const { return strides_[operand][dim]; }
  char* data(int operand) const { return data_[operand]; }

  void Run(int threads, LoopBody body, const void* context) const;

 private:
  void AddDims(const ArrayView* const* operands);
  void Sort();
  void Merge();
  void Swap(int a, int b);
  void RunRange(int64_t begin, int64_t end, LoopBody body, const void* context) const;

  int count_;
  int ndim_ = 0;
  int64_t total_ = 1;
  char* data_[kMaxLoopOperands];
  int64_t element_bytes_[kMaxLoopOperands];
  int64_t sizes_[kMaxDims];
  int64_t strides_[kMaxLoopOperands][kMaxDims];
};

// dst[i] = src[i], strides in bytes, elements of `size` bytes (1, 2, 4 or 8).
void CopyRun(char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int size,
             int64_t n);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_STRIDED_LOOP_H_
