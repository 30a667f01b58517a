#include <algorithm>
#include <cstring>

#include "oneflow/core/shape.h"
#include "oneflow/functional/attr_helpers.h"
#include "oneflow/functional/composites_shape.h"
#include "oneflow/functional/generated/functional.h"
#include "oneflow/vm/vm.h"

namespace oneflow::functional::composites {

namespace {

// The elements as they are now; waits for them.
Maybe<IndexList> ReadIntegers(const char* op, const TensorPtr& tensor) {
  if (!IsIntegral(tensor->dtype())) {
    return RuntimeError("[{}] expects integers, got {} {}", op, DataTypeName(tensor->dtype()),
                        tensor->shape());
  }
  const TensorPtr dense = JUST(contiguous(JUST(to_dtype(tensor, DataType::kInt64))));
  JUST(Vm::Get()->SyncRead(dense->storage()));
  IndexList values(static_cast<size_t>(dense->Count()));
  if (!values.empty()) {
    std::memcpy(values.data(), dense->data(), values.size() * sizeof(int64_t));
  }
  return values;
}

// Dims of a view, and what they are repeated to.
struct Repeated {
  Dims from;
  Dims to;
  Dims out;
};

Maybe<Repeated> PlanRepeat(const char* op, const Dims& shape, const Dims& repeats) {
  Repeated plan;
  const int added = repeats.size() - shape.size();
  for (int i = 0; i < repeats.size(); ++i) {
    const int64_t size = i < added ? 1 : shape[i - added];
    const int64_t times = repeats[i];
    const bool both = times != 1 && size != 1;
    int64_t total = 0;
    if (times < 0 || __builtin_mul_overflow(times, size, &total) ||
        plan.from.size() + 1 + (both ? 1 : 0) > kMaxDims) {
      return RuntimeError(
          "[{}] expects repeats that are not negative, for at most {} dims, of which "
          "one that repeats counts twice, got {} for shape {}",
          op, kMaxDims, repeats, shape);
    }
    if (both) {
      plan.from.PushBack(1);
      plan.to.PushBack(times);
    }
    plan.from.PushBack(size);
    plan.to.PushBack(both || times == 1 ? size : times);
    plan.out.PushBack(total);
  }
  return plan;
}

}  // namespace

Maybe<TensorPtr> Repeat(const TensorPtr& input, const Dims& repeats) {
  if (repeats.size() < input->ndim()) {
    return RuntimeError("[repeat] expects a number for each dim of {}, got {}", input->shape(),
                        repeats);
  }
  const Repeated plan = JUST(PlanRepeat("repeat", input->shape(), repeats));
  const TensorPtr spread = JUST(expand(JUST(view(input, plan.from)), plan.to));
  return view(JUST(copy(spread)), plan.out);
}

Maybe<TensorPtr> Tile(const TensorPtr& input, const Dims& dims) {
  Dims repeats = dims;
  while (repeats.size() < input->ndim()) { repeats.Insert(0, 1); }
  return Repeat(input, repeats);
}

Maybe<TensorPtr> RepeatInterleave(const TensorPtr& input, int64_t repeats,
                                  std::optional<int64_t> dim) {
  if (repeats < 0) {
    return RuntimeError("[repeat_interleave] expects a number of at least 0, got {}", repeats);
  }
  if (!dim.has_value()) { return RepeatInterleave(JUST(flatten(input)), repeats, 0); }
  const int at = static_cast<int>(JUST(WrapSliceDim("repeat_interleave", input, *dim)));
  Dims shape = input->shape();
  shape.Insert(at + 1, repeats);
  const TensorPtr spread = JUST(expand(JUST(unsqueeze(input, at + 1)), shape));
  shape.Erase(at + 1);
  if (__builtin_mul_overflow(shape[at], repeats, &shape[at])) {
    return RuntimeError("[repeat_interleave] expects a size of 64 bits, got {} times {}",
                        input->shape()[at], repeats);
  }
  return view(JUST(copy(spread)), shape);
}

Maybe<TensorPtr> RepeatInterleaveEach(const TensorPtr& input, const TensorPtr& repeats,
                                      std::optional<int64_t> dim,
                                      std::optional<int64_t> output_size) {
  if (!dim.has_value()) {
    return RepeatInterleaveEach(JUST(flatten(input)), repeats, 0, output_size);
  }
  const int at = static_cast<int>(JUST(WrapSliceDim("repeat_interleave", input, *dim)));
  const int64_t length = input->shape()[at];
  IndexList counts = JUST(ReadIntegers("repeat_interleave", repeats));
  if (counts.size() == 1) { counts.assign(static_cast<size_t>(length), counts[0]); }
  if (repeats->ndim() > 1 || static_cast<int64_t>(counts.size()) != length) {
    return RuntimeError(
        "[repeat_interleave] expects a number for each of the {} indices of dim {}, "
        "got {}",
        length, at, repeats->shape());
  }
  int64_t total = 0;
  for (int64_t count : counts) {
    if (count < 0 || __builtin_add_overflow(total, count, &total)) {
      return RuntimeError("[repeat_interleave] expects numbers that are not negative, got {}",
                          count);
    }
  }
  if (output_size.has_value() && *output_size != total) {
    return RuntimeError(
        "[repeat_interleave] expects the repeats to add up to output_size {}, got {}", *output_size,
        total);
  }
  TensorTuple parts;
  for (int64_t i = 0; i < length; ++i) {
    Dims shape = input->shape();
    shape[at] = counts[static_cast<size_t>(i)];
    parts.push_back(JUST(expand(JUST(narrow(input, at, i, 1)), shape)));
  }
  if (parts.empty()) { return copy(input); }
  return cat(parts, at);
}

Maybe<TensorPtr> OneHot(const TensorPtr& input, int64_t classes, Scalar on, Scalar off) {
  if (classes < -1) {
    return RuntimeError(
        "[one_hot] expects a number of classes, or -1 for as many as there are, got "
        "{}",
        classes);
  }
  if (classes >= 0) { return one_hot_nd(JUST(contiguous(input)), classes, on, off); }
  const IndexList indices = JUST(ReadIntegers("one_hot", input));
  if (indices.empty()) {
    return RuntimeError("[one_hot] expects a number of classes where there are no indices");
  }
  const int64_t largest = *std::max_element(indices.begin(), indices.end());
  return one_hot_nd(JUST(contiguous(input)), std::max<int64_t>(largest, 0) + 1, on, off);
}

}  // namespace oneflow::functional::composites
