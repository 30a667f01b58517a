#include "oneflow/functional/composites_shape.h"

#include <algorithm>

#include "oneflow/autograd/grad_mode.h"
#include "oneflow/core/shape.h"
#include "oneflow/functional/attr_helpers.h"
#include "oneflow/functional/generated/functional.h"

namespace oneflow::functional::composites {

Maybe<TensorPtr> ReverseDims(const TensorPtr& input) {
  Dims dims;
  for (int i = input->ndim() - 1; i >= 0; --i) { dims.PushBack(i); }
  return permute(input, dims);
}

// A list of any length, so that transpose(0, 1) is not taken for it.
Maybe<TensorPtr> TransposePerm(const TensorPtr& input, const IndexList& perm) {
  if (static_cast<int>(perm.size()) != input->ndim()) {
    return RuntimeError("[transpose] expects each of the {} dims of input {} once, got {}",
                        input->ndim(), input->shape(), perm.size());
  }
  return permute(input, Dims(perm.data(), input->ndim()));
}

Maybe<TensorPtr> Movedim(const TensorPtr& input, const Dims& source, const Dims& destination) {
  if (source.size() != destination.size()) {
    return RuntimeError("[movedim] expects as many destinations as sources, got {} and {}", source,
                        destination);
  }
  const IntList from = JUST(WrapDims("movedim", input, source));
  const IntList to = JUST(WrapDims("movedim", input, destination));
  Dims dims(input->ndim(), -1);
  bool moved[kMaxDims] = {};
  for (int i = 0; i < from.count; ++i) {
    dims[static_cast<int>(to.values[i])] = from.values[i];
    moved[from.values[i]] = true;
  }
  int next = 0;
  for (int i = 0; i < dims.size(); ++i) {
    if (dims[i] >= 0) { continue; }
    while (moved[next]) { ++next; }
    dims[i] = next++;
  }
  return permute(input, dims);
}

Maybe<TensorPtr> MovedimOne(const TensorPtr& input, int64_t source, int64_t destination) {
  return Movedim(input, Dims{source}, Dims{destination});
}

Maybe<TensorPtr> UnsqueezeMultiple(const TensorPtr& input, const Dims& dim, int64_t dims) {
  bool added[kMaxDims] = {};
  if (dims < 0 || dims > kMaxDims || input->ndim() + dim.size() != dims) {
    return RuntimeError(
        "[unsqueeze_multiple] expects {} new dims of {} in all for shape {}, got {}",
        dims - input->ndim(), dims, input->shape(), dim);
  }
  for (int64_t d : dim) {
    const int at = JUST(WrapDim("unsqueeze_multiple", d, static_cast<int>(dims)));
    if (added[at]) {
      return RuntimeError("[unsqueeze_multiple] expects each dim once, got {}", dim);
    }
    added[at] = true;
  }
  Dims shape;
  int next = 0;
  for (int i = 0; i < dims; ++i) { shape.PushBack(added[i] ? 1 : input->shape()[next++]); }
  return view(input, shape);
}

// Dims in `axes` are new in `like`; without axes dims are matched from the last one on.
Maybe<TensorPtr> BroadcastLike(const TensorPtr& input, const TensorPtr& like, const Dims& axes) {
  const bool same_rank = input->ndim() == like->ndim();
  if (axes.empty() || same_rank) { return expand(input, like->shape()); }
  return expand(JUST(UnsqueezeMultiple(input, axes, like->ndim())), like->shape());
}

Maybe<TensorPtr> Roll(const TensorPtr& input, const Dims& shifts, const std::optional<Dims>& dims) {
  if (!dims.has_value()) {
    if (shifts.size() != 1) {
      return RuntimeError("[roll] expects one shift where no dims are given, got {}", shifts);
    }
    return reshape(JUST(Roll(JUST(flatten(input)), shifts, Dims{0})), input->shape());
  }
  if (shifts.size() != dims->size()) {
    return RuntimeError("[roll] expects as many dims as shifts, got {} and {}", *dims, shifts);
  }
  TensorPtr out = input;
  for (int i = 0; i < shifts.size(); ++i) {
    const int dim = static_cast<int>(JUST(WrapSliceDim("roll", input, (*dims)[i])));
    const int64_t size = input->shape()[dim];
    const int64_t shift = size == 0 ? 0 : (shifts[i] % size + size) % size;
    if (shift == 0) { continue; }
    out = JUST(
        cat({JUST(narrow(out, dim, size - shift, shift)), JUST(narrow(out, dim, 0, size - shift))},
            dim));
  }
  return out == input ? copy(input) : Maybe<TensorPtr>(out);
}

Maybe<TensorPtr> Diag(const TensorPtr& input, int64_t diagonal_offset) {
  if (input->ndim() == 1) { return DiagEmbed(input, diagonal_offset, 0, 1); }
  if (input->ndim() != 2) {
    return RuntimeError("[diag] expects a vector or a matrix, got {}", input->shape());
  }
  return copy(JUST(diagonal(input, diagonal_offset, 0, 1)));
}

Maybe<TensorPtr> DiagEmbed(const TensorPtr& input, int64_t offset, int64_t dim1, int64_t dim2) {
  if (input->ndim() == 0 || input->ndim() == kMaxDims) {
    return RuntimeError("[diag_embed] expects 1 to {} dims, got {}", kMaxDims - 1, input->shape());
  }
  const int first = JUST(WrapDim("diag_embed", dim1, input->ndim() + 1));
  const int second = JUST(WrapDim("diag_embed", dim2, input->ndim() + 1));
  const int64_t length = input->shape().back();
  int64_t size = 0;
  if (first == second || offset == INT64_MIN ||
      __builtin_add_overflow(length, std::abs(offset), &size)) {
    return RuntimeError(
        "[diag_embed] expects two different dims and a size of 64 bits, got dims {} "
        "and {}, offset {} for {}",
        dim1, dim2, offset, input->shape());
  }
  Dims shape;
  int next = 0;
  for (int i = 0; i <= input->ndim(); ++i) {
    shape.PushBack(i == first || i == second ? size : input->shape()[next++]);
  }
  return diagonal_backward(input, shape, offset, first, second);
}

Maybe<TensorPtr> EyeInto(const TensorPtr& input) {
  if (input->ndim() != 2) {
    return RuntimeError("[eye_] expects a matrix, got {}", input->shape());
  }
  JUST(zero_(input));
  const ScopedGradMode mode(false);
  JUST(fill_(JUST(diagonal(input, 0, 0, 1)), Scalar(1)));
  return input;
}

Maybe<TensorPtr> Eye(int64_t n, std::optional<int64_t> m, std::optional<DataType> dtype,
                     std::optional<Device> device) {
  const int64_t columns = m.value_or(n);
  if (n < 0 || columns < 0) {
    return ValueError("[eye] expects sizes of at least 0, got ({}, {})", n, columns);
  }
  return EyeInto(JUST(zeros(Dims{n, columns}, dtype, device)));
}

}  // namespace oneflow::functional::composites
