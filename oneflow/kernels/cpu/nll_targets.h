// The targets of nll_loss: walking over them together with the log-probabilities, and checking
// them.
//
// Thread safety: values; pure functions. Ownership: borrows the call's arrays.
#ifndef ONEFLOW_KERNELS_CPU_NLL_TARGETS_H_
#define ONEFLOW_KERNELS_CPU_NLL_TARGETS_H_

#include <cstdint>

#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

// Log-probabilities (or their gradient) x: (C,) with a scalar target, (N, C), or (N, C, d1, ...),
// with targets (N, d1, ...).
class NllTargets {
 public:
  NllTargets(const ArrayView& x, const ArrayView& target);

  int64_t count() const { return count_; }
  int64_t classes() const { return classes_; }

  // IndexError unless every target is `ignore_index` or in [0, classes).
  Maybe<void> Check(const char* op, int64_t ignore_index) const;

  // Calls body(i, t, offset of x[i, t] in elements) for target number i (row-major) with class t;
  // t == ignore_index is passed on with the offset of class 0.
  template <typename Body>
  void ForEach(int64_t ignore_index, const Body& body) const {
    int64_t index[kMaxDims] = {};
    int64_t at_x = 0;
    int64_t at_target = 0;
    for (int64_t i = 0; i < count_; ++i) {
      const int64_t t = targets_[at_target];
      body(i, t, at_x + (t == ignore_index ? 0 : t * class_stride_));
      for (int d = ndim_ - 1; d >= 0; --d) {
        at_x += x_strides_[d];
        at_target += target_strides_[d];
        if (++index[d] < sizes_[d]) { break; }
        at_x -= sizes_[d] * x_strides_[d];
        at_target -= sizes_[d] * target_strides_[d];
        index[d] = 0;
      }
    }
  }

 private:
  const int64_t* targets_;
  int ndim_;
  int64_t count_ = 1;
  int64_t classes_;
  int64_t class_stride_;
  int64_t sizes_[kMaxDims];
  int64_t x_strides_[kMaxDims];
  int64_t target_strides_[kMaxDims];
};

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_NLL_TARGETS_H_
