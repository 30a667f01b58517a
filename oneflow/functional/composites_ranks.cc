#include <algorithm>
#include <utility>

#include "oneflow/functional/composites_indexing.h"
#include "oneflow/functional/composites_reduce.h"
#include "oneflow/functional/generated/functional.h"

namespace oneflow::functional::composites {

namespace {

// A part of a larger tensor as one of its own.
Maybe<TensorPtr> FirstOf(const TensorPtr& room, int64_t count) {
  return copy(JUST(narrow(room, 0, 0, count)));
}

}  // namespace

Maybe<TensorPtr> Unique(const TensorPtr& input, bool sorted, DataType dtype) {
  const TensorTuple all = JUST(unique_all(JUST(reshape(input, Dims{-1}))));
  return FirstOf(all[0], JUST(ReadInt(all[3])));
}

Maybe<TensorChoice> UniqueWithCounts(const TensorPtr& input, bool sorted, bool return_inverse,
                                     bool return_counts, DataType dtype) {
  const TensorTuple all = JUST(unique_all(JUST(reshape(input, Dims{-1}))));
  const int64_t count = JUST(ReadInt(all[3]));
  TensorTuple out = {JUST(FirstOf(all[0], count))};
  if (return_inverse) {
    out.push_back(JUST(to_dtype(JUST(reshape(all[1], input->shape())), dtype)));
  }
  if (return_counts) { out.push_back(JUST(to_dtype(JUST(FirstOf(all[2], count)), dtype))); }
  if (out.size() == 1) { return TensorChoice(out[0]); }
  return TensorChoice(std::move(out));
}

Maybe<TensorPtr> Bincount(const TensorPtr& input, const TensorPtr& weights,
                          std::optional<int64_t> minlength) {
  if (input->ndim() != 1 || IsFloating(input->dtype())) {
    return RuntimeError("[bincount] expects whole numbers of shape (n,), got {} {}",
                        DataTypeName(input->dtype()), input->shape());
  }
  const TensorPtr whole = JUST(to_dtype(input, DataType::kInt64));
  int64_t size = minlength.value_or(0);
  if (size < 0) { return RuntimeError("[bincount] expects minlength >= 0, got {}", size); }
  if (whole->Count() > 0) {
    const int64_t least = JUST(ReadInt(JUST(amin(whole))));
    if (least < 0) {
      return RuntimeError("[bincount] expects whole numbers, none negative, got {}", least);
    }
    size = std::max(size, JUST(ReadInt(JUST(amax(whole)))) + 1);
  }
  if (weights == nullptr) { return bins(whole, nullptr, size, DataType::kInt64); }
  if (weights->shape() != input->shape()) {
    return RuntimeError("[bincount] expects weights of input's shape {}, got {}", input->shape(),
                        weights->shape());
  }
  const DataType dtype = weights->dtype() == DataType::kFloat ? DataType::kFloat
                         : IsFloating(weights->dtype())       ? DataType::kDouble
                                                              : DataType::kInt64;
  return bins(whole, JUST(to_dtype(weights->Alias(), dtype)), size, dtype);
}

}  // namespace oneflow::functional::composites
