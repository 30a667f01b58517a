#include <algorithm>

#include "oneflow/functional/attr_helpers.h"
#include "oneflow/functional/composites_shape.h"
#include "oneflow/functional/generated/functional.h"

namespace oneflow::functional::composites {

namespace {

// How much to add to each dim; a negative number takes away.
struct Amounts {
  Dims before;
  Dims after;
};

Maybe<Amounts> ReadAmounts(const TensorPtr& input, const IndexList& pad) {
  const auto pairs = static_cast<int64_t>(pad.size()) / 2;
  if (pad.size() % 2 != 0 || pairs > input->ndim()) {
    return RuntimeError(
        "[pad] expects two numbers for each dim that is padded, of shape {}, got {}",
        input->shape(), pad.size());
  }
  Amounts amounts{Dims(input->ndim(), 0), Dims(input->ndim(), 0)};
  for (int64_t k = 0; k < pairs; ++k) {
    const int dim = input->ndim() - 1 - static_cast<int>(k);
    amounts.before[dim] = pad[static_cast<size_t>(2 * k)];
    amounts.after[dim] = pad[static_cast<size_t>(2 * k + 1)];
  }
  return amounts;
}

// Cuts off what negative amounts take away, and makes them 0.
Maybe<TensorPtr> Cut(const TensorPtr& input, Amounts* amounts) {
  TensorPtr out = input;
  for (int d = 0; d < input->ndim(); ++d) {
    int64_t& before = amounts->before[d];
    int64_t& after = amounts->after[d];
    const int64_t start = before < 0 ? -before : 0;
    const int64_t end = input->shape()[d] - (after < 0 ? -after : 0);
    if (before == INT64_MIN || after == INT64_MIN || start > input->shape()[d] || end < start) {
      return RuntimeError(
          "[pad] expects sizes of at least 0 after padding, got {} and {} for size {} "
          "of dim {}",
          before, after, input->shape()[d], d);
    }
    if (before < 0 || after < 0) { out = JUST(slice(out, d, start, end)); }
    before = std::max<int64_t>(before, 0);
    after = std::max<int64_t>(after, 0);
  }
  return out;
}

bool AllZero(const Dims& dims) {
  return std::all_of(dims.begin(), dims.end(), [](int64_t x) { return x == 0; });
}

Maybe<TensorPtr> Mirrored(const TensorPtr& input, int64_t dim, int64_t start, int64_t length) {
  return flip(JUST(narrow(input, dim, start, length)), Dims{dim});
}

Maybe<TensorPtr> Edge(const TensorPtr& input, int dim, int64_t at, int64_t length) {
  Dims shape = input->shape();
  shape[dim] = length;
  return expand(JUST(narrow(input, dim, at, 1)), shape);
}

enum class Mode { kReflect, kReplicate, kCircular };

// What stands before (or after) the elements of `dim`.
Maybe<TensorPtr> Border(const TensorPtr& input, int dim, Mode mode, int64_t length, bool before) {
  const int64_t size = input->shape()[dim];
  const int64_t most = mode == Mode::kReflect    ? size - 1
                       : mode == Mode::kCircular ? size
                                                 : INT64_MAX;
  if (size == 0 || length > most) {
    return RuntimeError(
        "[pad] expects at most {} elements of padding in this mode, for dim {} of {}, "
        "got {}",
        std::max<int64_t>(most, 0), dim, input->shape(), length);
  }
  switch (mode) {
    case Mode::kReflect: return Mirrored(input, dim, before ? 1 : size - 1 - length, length);
    case Mode::kReplicate: return Edge(input, dim, before ? 0 : size - 1, length);
    case Mode::kCircular: break;
  }
  return narrow(input, dim, before ? size - length : 0, length);
}

Maybe<TensorPtr> PadByCopies(const TensorPtr& input, const Amounts& amounts, Mode mode) {
  TensorPtr out = input;
  for (int d = 0; d < input->ndim(); ++d) {
    if (amounts.before[d] == 0 && amounts.after[d] == 0) { continue; }
    TensorTuple parts;
    if (amounts.before[d] > 0) {
      parts.push_back(JUST(Border(out, d, mode, amounts.before[d], true)));
    }
    parts.push_back(out);
    if (amounts.after[d] > 0) {
      parts.push_back(JUST(Border(out, d, mode, amounts.after[d], false)));
    }
    out = JUST(cat(parts, d));
  }
  return out;
}

}  // namespace

Maybe<TensorPtr> Pad(const TensorPtr& input, const IndexList& pad, const std::string& mode,
                     std::optional<Scalar> value) {
  Amounts amounts = JUST(ReadAmounts(input, pad));
  const TensorPtr kept = JUST(Cut(input, &amounts));
  if (AllZero(amounts.before) && AllZero(amounts.after)) { return copy(kept); }
  if (mode == "constant") {
    const Scalar fill = value.value_or(Scalar(0));
    JUST(CheckFits("pad", fill, input->dtype()));
    return constant_pad(kept, amounts.before, amounts.after, fill);
  }
  if (mode == "reflect") { return PadByCopies(kept, amounts, Mode::kReflect); }
  if (mode == "replicate") { return PadByCopies(kept, amounts, Mode::kReplicate); }
  if (mode == "circular") { return PadByCopies(kept, amounts, Mode::kCircular); }
  return NotImplementedError(
      "[pad] expects a mode of constant, reflect, replicate and circular, got "
      "\"{}\"",
      mode);
}

Maybe<TensorPtr> ConstantPadBackward(const TensorPtr& dy, const Dims& before, const Dims& after) {
  TensorPtr out = dy;
  for (int d = 0; d < dy->ndim(); ++d) {
    if (before[d] == 0 && after[d] == 0) { continue; }
    out = JUST(slice(out, d, before[d], dy->shape()[d] - after[d]));
  }
  return out;
}

}  // namespace oneflow::functional::composites
