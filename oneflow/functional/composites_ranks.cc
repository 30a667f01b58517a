#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "oneflow/functional/composites_indexing.h"
#include "oneflow/functional/composites_reduce.h"
#include "oneflow/functional/generated/functional.h"
#include "oneflow/vm/vm.h"

namespace oneflow::functional::composites {

namespace {

// Of ranks low and high = low + 1, or of one rank.
struct Between {
  int64_t low;
  int64_t high;
  double weight;  // of the high one
};

Maybe<Between> RanksOf(double q, int64_t n, const std::string& interpolation) {
  if (!(q >= 0.0 && q <= 1.0)) { return RuntimeError("[quantile] expects q in [0, 1], got {}", q); }
  const double rank = q * static_cast<double>(n - 1);
  const auto low = static_cast<int64_t>(std::floor(rank));
  const auto high = static_cast<int64_t>(std::ceil(rank));
  if (interpolation == "linear") { return Between{low, high, rank - std::floor(rank)}; }
  if (interpolation == "lower") { return Between{low, low, 0.0}; }
  if (interpolation == "higher") { return Between{high, high, 0.0}; }
  if (interpolation == "midpoint") { return Between{low, high, 0.5}; }
  if (interpolation == "nearest") {
    const auto nearest = static_cast<int64_t>(std::nearbyint(rank));
    return Between{nearest, nearest, 0.0};
  }
  return ValueError("[quantile] expects an interpolation of linear, lower, higher, nearest or "
                    "midpoint, got {}",
                    interpolation);
}

// The elements in order, along the last dim.
struct Ordered {
  TensorPtr sorted;
  int64_t dim = 0;
};

Maybe<Ordered> Order(const TensorPtr& input, std::optional<int64_t> dim) {
  if (!IsFloating(input->dtype())) {
    return RuntimeError("[quantile] expects a tensor of a floating dtype, got {} {}",
                        DataTypeName(input->dtype()), input->shape());
  }
  Ordered out;
  TensorPtr x = input;
  if (!dim.has_value() || input->ndim() == 0) {
    x = JUST(reshape(input, Dims{-1}));
  } else {
    out.dim = JUST(WrapDim("quantile", *dim, input->ndim()));
  }
  if (x->shape()[static_cast<int>(out.dim)] == 0) {
    return RuntimeError("[quantile] expects at least one element to choose from, got shape {}",
                        input->shape());
  }
  out.sorted = JUST(sort(x, out.dim))[0];
  return out;
}

Maybe<TensorPtr> ElementAt(const Ordered& ordered, const Between& ranks) {
  const TensorPtr low = JUST(narrow(ordered.sorted, ordered.dim, ranks.low, 1));
  TensorPtr value = low;
  if (ranks.high != ranks.low) {
    const TensorPtr high = JUST(narrow(ordered.sorted, ordered.dim, ranks.high, 1));
    const TensorPtr step = JUST(scalar_mul(JUST(sub(high, low)), Scalar(ranks.weight)));
    value = JUST(add(low, step));
  }
  // A NaN is the last in order, and makes the result NaN.
  const int64_t n = ordered.sorted->shape()[static_cast<int>(ordered.dim)];
  const TensorPtr last = JUST(narrow(ordered.sorted, ordered.dim, n - 1, 1));
  return where(JUST(eq(last, last)), value, last);
}

Maybe<TensorPtr> Shaped(const TensorPtr& value, const TensorPtr& input, const Ordered& ordered,
                        std::optional<int64_t> dim, bool keepdim) {
  if (dim.has_value() && input->ndim() > 0) {
    return keepdim ? value : squeeze(value, Dims{ordered.dim});
  }
  return reshape(value, keepdim ? Dims(input->ndim(), 1) : Dims());
}

Maybe<TensorPtr> QuantileOf(const TensorPtr& input, const Ordered& ordered, double q,
                            std::optional<int64_t> dim, bool keepdim,
                            const std::string& interpolation) {
  const int64_t n = ordered.sorted->shape()[static_cast<int>(ordered.dim)];
  const Between ranks = JUST(RanksOf(q, n, interpolation));
  return Shaped(JUST(ElementAt(ordered, ranks)), input, ordered, dim, keepdim);
}

// The numbers of a tensor, once they are there.
Maybe<std::vector<double>> ReadDoubles(const TensorPtr& tensor) {
  const TensorPtr dense = JUST(contiguous(JUST(to_dtype(tensor->Alias(), DataType::kDouble))));
  JUST(Vm::Get()->SyncRead(dense->storage()));
  const auto* data = reinterpret_cast<const double*>(dense->data());
  return std::vector<double>(data, data + dense->Count());
}

// A part of a larger tensor as one of its own.
Maybe<TensorPtr> FirstOf(const TensorPtr& room, int64_t count) {
  return copy(JUST(narrow(room, 0, 0, count)));
}

}  // namespace

Maybe<TensorPtr> Quantile(const TensorPtr& input, Scalar q, std::optional<int64_t> dim,
                          bool keepdim, const std::string& interpolation) {
  const Ordered ordered = JUST(Order(input, dim));
  return QuantileOf(input, ordered, q.To<double>(), dim, keepdim, interpolation);
}

Maybe<TensorPtr> Quantiles(const TensorPtr& input, const TensorPtr& q, std::optional<int64_t> dim,
                           bool keepdim, const std::string& interpolation) {
  if (q->ndim() > 1) {
    return RuntimeError("[quantile] expects q with one dim or none, got shape {}", q->shape());
  }
  const Ordered ordered = JUST(Order(input, dim));
  TensorTuple found;
  for (double fraction : JUST(ReadDoubles(q))) {
    found.push_back(JUST(QuantileOf(input, ordered, fraction, dim, keepdim, interpolation)));
  }
  if (q->ndim() == 0) { return found[0]; }
  return stack(found, 0);
}

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
