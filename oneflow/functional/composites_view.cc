#include "oneflow/functional/attr_helpers.h"
#include "oneflow/functional/composites.h"
#include "oneflow/functional/generated/functional.h"

namespace oneflow::functional::composites {

Maybe<TensorPtr> Reshape(const TensorPtr& input, const Dims& shape) {
  const Dims wanted = JUST(InferViewShape("reshape", input->shape(), shape));
  if (wanted == input->shape()) { return input; }
  Strides strides;
  if (ViewStrides(input->shape(), input->strides(), wanted, &strides)) {
    return view(input, wanted);
  }
  return view(JUST(copy(input)), wanted);
}

Maybe<TensorPtr> PermuteBackward(const TensorPtr& dy, const Dims& dims) {
  Dims inverse(dims.size(), 0);
  for (int i = 0; i < dims.size(); ++i) { inverse[static_cast<int>(dims[i])] = i; }
  return permute(dy, inverse);
}

Maybe<TensorPtr> Transpose(const TensorPtr& input, int64_t dim0, int64_t dim1) {
  const int first = JUST(WrapDim("transpose", dim0, input->ndim()));
  const int second = JUST(WrapDim("transpose", dim1, input->ndim()));
  Dims dims;
  dims.Resize(input->ndim());
  for (int i = 0; i < dims.size(); ++i) { dims[i] = i; }
  if (!dims.empty()) { std::swap(dims[first], dims[second]); }
  return permute(input, dims);
}

Maybe<TensorPtr> TransposeMatrix(const TensorPtr& input) {
  if (input->ndim() > 2) {
    return RuntimeError("[t] expects a tensor of at most 2 dimensions, got {}", input->shape());
  }
  if (input->ndim() < 2) { return view(input, input->shape()); }
  return permute(input, Dims{1, 0});
}

Maybe<TensorPtr> Narrow(const TensorPtr& input, int64_t dim, int64_t start, int64_t length) {
  const int64_t wrapped = JUST(WrapSliceDim("narrow", input, dim));
  const int64_t size = input->shape()[static_cast<int>(wrapped)];
  const int64_t first = start < 0 ? start + size : start;
  if (first < 0 || length < 0 || first > size || length > size - first) {
    return RuntimeError("[narrow] expects start and length within size {} of dim {}, got start {}, "
                        "length {}",
                        size, wrapped, start, length);
  }
  return slice(input, wrapped, first, first + length);
}

Maybe<TensorPtr> Select(const TensorPtr& input, int64_t dim, int64_t index) {
  const int at = static_cast<int>(JUST(WrapSliceDim("select", input, dim)));
  const int64_t size = input->shape()[at];
  if (index < -size || index >= size) {
    return IndexError("[select] expects an index in [{}, {}] for dim {} of {}, got {}", -size,
                      size - 1, at, input->shape(), index);
  }
  const int64_t first = index < 0 ? index + size : index;
  Dims shape = input->shape();
  shape.Erase(at);
  return view(JUST(slice(input, at, first, first + 1)), shape);
}

Maybe<TensorPtr> Unsqueeze(const TensorPtr& input, int64_t dim) {
  const int at = JUST(WrapDim("unsqueeze", dim, input->ndim() + 1));
  Dims shape = input->shape();
  if (shape.size() >= kMaxDims) {
    return RuntimeError("[unsqueeze] expects fewer than {} dims, got {}", kMaxDims, shape);
  }
  shape.Insert(at, 1);
  return view(input, shape);
}

Maybe<TensorPtr> Squeeze(const TensorPtr& input, const std::optional<Dims>& dim) {
  const IntList wanted = JUST(WrapDims("squeeze", input, dim));
  Dims shape;
  for (int i = 0; i < input->ndim(); ++i) {
    bool named = !wanted.given;
    for (int j = 0; j < wanted.count; ++j) { named = named || wanted.values[j] == i; }
    if (!named || input->shape()[i] != 1) { shape.PushBack(input->shape()[i]); }
  }
  return view(input, shape);
}

Maybe<TensorPtr> Flatten(const TensorPtr& input, int64_t start_dim, int64_t end_dim) {
  const int first = JUST(WrapDim("flatten", start_dim, input->ndim()));
  const int last = JUST(WrapDim("flatten", end_dim, input->ndim()));
  if (first > last) {
    return RuntimeError("[flatten] expects start_dim not after end_dim, got {} and {}", start_dim,
                        end_dim);
  }
  Dims shape;
  for (int i = 0; i < first; ++i) { shape.PushBack(input->shape()[i]); }
  int64_t merged = 1;
  for (int i = first; i <= last && i < input->ndim(); ++i) {
    if (__builtin_mul_overflow(merged, input->shape()[i], &merged)) {
      return RuntimeError("[flatten] expects a merged size of 64 bits, got {}", input->shape());
    }
  }
  shape.PushBack(merged);
  for (int i = last + 1; i < input->ndim(); ++i) { shape.PushBack(input->shape()[i]); }
  return Reshape(input, shape);
}

Maybe<TensorPtr> SliceLike(const TensorPtr& dy, const Dims& shape, int64_t dim, int64_t start,
                           int64_t step, const Dims& like) {
  const int64_t length = like[static_cast<int>(dim)];
  return slice(dy, dim, start, length == 0 ? start : start + (length - 1) * step + 1, step);
}

Maybe<TensorPtr> Contiguous(const TensorPtr& input) {
  if (input->contiguous()) { return input; }
  return copy(input);
}

}  // namespace oneflow::functional::composites
