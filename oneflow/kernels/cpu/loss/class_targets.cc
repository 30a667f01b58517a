#include "oneflow/kernels/cpu/loss/class_targets.h"

#include <string>

#include "oneflow/core/dims.h"

namespace oneflow {
namespace cpu {

std::string PositionText(const ArrayView& array, int64_t i) {
  if (array.ndim <= 1) { return std::to_string(i); }
  Dims index(array.ndim, 0);
  for (int d = array.ndim - 1; d >= 0; --d) {
    index[d] = i % array.shape[d];
    i /= array.shape[d];
  }
  return index.ToString();
}

Maybe<void> CheckClassTargets(const char* op, const ArrayView& targets, int64_t classes,
                              int64_t ignore_index) {
  const int64_t* data = targets.Data<int64_t>();
  const int64_t count = targets.Count();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t t = data[i];
    if (t != ignore_index && (t < 0 || t >= classes)) {
      return IndexError("[{}] expects target in [0, {}), got {} at index {}", op, classes, t,
                        PositionText(targets, i));
    }
  }
  return Ok();
}

}  // namespace cpu
}  // namespace oneflow
