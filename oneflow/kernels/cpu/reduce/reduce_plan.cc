#include "oneflow/kernels/cpu/reduce/reduce_plan.h"

#include <algorithm>

#include "oneflow/kernels/cpu/reduce/reduce_loops.h"

namespace oneflow {
namespace cpu {

namespace {
constexpr int64_t kRowUnitElements = 8192;
}  // namespace

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
  int at = 0;  // rows: the innermost dimension that stays gives the outputs of a unit
  if (reduced_[0].input != 1 || reduced_[0].size == 1) {
    for (int d = 0; d < num_kept_; ++d) {
      if (kept_[d].input == 1) {
        by_columns_ = true;
        at = d;
        break;
      }
    }
  }
  if (num_kept_ > 0) {
    column_ = kept_[at];
    std::copy(kept_ + at + 1, kept_ + num_kept_, kept_ + at);
    --num_kept_;
  }
  // Rows of many elements are units of their own, which threads can share.
  tile_ = by_columns_ ? kColumnTile
                      : std::clamp<int64_t>(kRowUnitElements / std::max<int64_t>(reduced_count_, 1),
                                            1, kColumnTile);
  tiles_ = (column_.size + tile_ - 1) / tile_;
  units_ = outputs_ == 0 ? 0 : outputs_ / column_.size * tiles_;
}

ReducePlan::Unit ReducePlan::GetUnit(int64_t i) const {
  const int64_t first = i % tiles_ * tile_;
  int64_t rest = i / tiles_;
  Unit unit = {first * column_.input, first * column_.output, std::min(tile_, column_.size - first),
               column_.input, column_.output};
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
