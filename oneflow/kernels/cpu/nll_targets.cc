#include "oneflow/kernels/cpu/nll_targets.h"

#include <string>

#include "oneflow/core/dims.h"

namespace oneflow {
namespace cpu {

NllTargets::NllTargets(const ArrayView& x, const ArrayView& target)
    : targets_(target.Data<int64_t>()), ndim_(target.ndim) {
  const int class_dim = x.ndim == 1 ? 0 : 1;
  classes_ = x.shape[class_dim];
  class_stride_ = x.strides[class_dim];
  for (int d = 0; d < ndim_; ++d) {
    sizes_[d] = target.shape[d];
    target_strides_[d] = target.strides[d];
    x_strides_[d] = x.strides[d == 0 ? 0 : d + 1];
    count_ *= sizes_[d];
  }
}

namespace {

// "3" or "(0, 3)": where target number i stands.
std::string IndexText(int64_t i, const int64_t* sizes, int ndim) {
  if (ndim <= 1) { return std::to_string(i); }
  Dims index(ndim, 0);
  for (int d = ndim - 1; d >= 0; --d) {
    index[d] = i % sizes[d];
    i /= sizes[d];
  }
  return index.ToString();
}

}  // namespace

Maybe<void> NllTargets::Check(const char* op, int64_t ignore_index) const {
  int64_t bad = -1;
  int64_t value = 0;
  // ForEach only computes offsets here: nothing is read at them.
  NllTargets offsets_off = *this;
  offsets_off.class_stride_ = 0;
  offsets_off.ForEach(ignore_index, [&](int64_t i, int64_t t, int64_t) {
    if (bad < 0 && t != ignore_index && (t < 0 || t >= classes_)) {
      bad = i;
      value = t;
    }
  });
  if (bad < 0) { return Ok(); }
  return IndexError("[{}] expects target in [0, {}), got {} at index {}", op, classes_, value,
                    IndexText(bad, sizes_, ndim_));
}

}  // namespace cpu
}  // namespace oneflow
