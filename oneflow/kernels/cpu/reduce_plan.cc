#include "oneflow/kernels/cpu/reduce_plan.h"

#include <algorithm>

#include "oneflow/kernels/cpu/reduce_loops.h"

namespace oneflow {
namespace cpu {

ReducePlan::ReducePlan(const ArrayView& input, const IntList& dims, Order order) {
  bool reduce[kMaxDims] = {};
  const bool all = !dims.given || dims.count == 0;
  for (int d = 0; d < input.ndim; ++d) { reduce[d] = all; }
  for (int i = 0; i < dims.count && !all; ++i) { reduce[dims.values[i]] = true; }
  Split(input, reduce);
  if (order == Order::kAny) { SortReduced(); }
  num_kept_ = Merge(kept_, num_kept_);
  num_reduced_ = Merge(reduced_, num_reduced_);
  if (num_reduced_ == 0) { reduced_[num_reduced_++] = {1, 1, 0}; }
  ChooseColumns();
}

void ReducePlan::Split(const ArrayView& input, const bool* reduce) {
  for (int d = input.ndim - 1; d >= 0; --d) {
    const int64_t size = input.shape[d];
    if (reduce[d]) {
      reduced_count_ *= size;
      if (size != 1) { reduced_[num_reduced_++] = {size, input.strides[d], 0}; }
    } else {
      if (size != 1) { kept_[num_kept_++] = {size, input.strides[d], outputs_}; }
      outputs_ *= size;
    }
  }
}

void ReducePlan::SortReduced() {
  std::sort(reduced_, reduced_ + num_reduced_,
            [](const Dim& a, const Dim& b) { return a.input < b.input; });
}

int ReducePlan::Merge(Dim* dims, int count) {
  int n = 0;
  for (int d = 0; d < count; ++d) {
    if (n > 0 && dims[d].input == dims[n - 1].input * dims[n - 1].size &&
        dims[d].output == dims[n - 1].output * dims[n - 1].size) {
      dims[n - 1].size *= dims[d].size;
    } else {
      dims[n++] = dims[d];
    }
  }
  return n;
}

void ReducePlan::ChooseColumns() {
  units_ = outputs_;
  if (reduced_[0].input == 1 && reduced_[0].size > 1) { return; }
  for (int d = 0; d < num_kept_; ++d) {
    if (kept_[d].input != 1) { continue; }
    column_ = kept_[d];
    std::copy(kept_ + d + 1, kept_ + num_kept_, kept_ + d);
    --num_kept_;
    by_columns_ = true;
    tiles_ = (column_.size + kColumnTile - 1) / kColumnTile;
    units_ = outputs_ == 0 ? 0 : outputs_ / column_.size * tiles_;
    return;
  }
}

ReducePlan::Unit ReducePlan::GetUnit(int64_t i) const {
  Unit unit{0, 0, 1, 1};
  int64_t rest = i;
  if (by_columns_) {
    const int64_t first = rest % tiles_ * kColumnTile;
    rest /= tiles_;
    unit = {first * column_.input, first * column_.output,
            std::min(kColumnTile, column_.size - first), column_.output};
  }
  for (int d = 0; d < num_kept_; ++d) {
    const int64_t index = rest % kept_[d].size;
    rest /= kept_[d].size;
    unit.input += index * kept_[d].input;
    unit.output += index * kept_[d].output;
  }
  return unit;
}

}  // namespace cpu
}  // namespace oneflow
