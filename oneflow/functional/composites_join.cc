#include <algorithm>

#include "oneflow/autograd/grad_mode.h"
#include "oneflow/core/shape.h"
#include "oneflow/functional/attr_helpers.h"
#include "oneflow/functional/composites_shape.h"
#include "oneflow/functional/generated/functional.h"
#include "oneflow/functional/split_node.h"

namespace oneflow::functional {

namespace {

bool JoinsNothing(const TensorPtr& tensor) {
  return tensor->ndim() == 1 && tensor->shape()[0] == 0;
}

Maybe<void> CheckSome(const char* op, const TensorTuple& tensors) {
  if (tensors.empty()) { return RuntimeError("[{}] expects at least one tensor, got none", op); }
  return Ok();
}

}  // namespace

Maybe<int64_t> CatDim(const char* op, const TensorTuple& tensors, int64_t dim) {
  JUST(CheckSome(op, tensors));
  const TensorPtr* chosen = &tensors[0];
  for (const TensorPtr& tensor : tensors) {
    if (tensor->ndim() == 0) {
      return RuntimeError("[{}] expects tensors of at least one dim, got one of none; see stack",
                          op);
    }
    if (JoinsNothing(*chosen)) { chosen = &tensor; }
  }
  return static_cast<int64_t>(JUST(WrapDim(op, dim, (*chosen)->ndim())));
}

Maybe<int64_t> StackDim(const char* op, const TensorTuple& tensors, int64_t dim) {
  JUST(CheckSome(op, tensors));
  return static_cast<int64_t>(JUST(WrapDim(op, dim, tensors[0]->ndim() + 1)));
}

namespace composites {

namespace {

// Views of `sizes` elements of `dim`, one after the other, with one node for all of them.
Maybe<TensorTuple> CutAt(const char* op, const TensorPtr& input, int dim, const IndexList& sizes) {
  TensorTuple pieces;
  pieces.reserve(sizes.size());
  {
    const ScopedGradMode mode(false);
    int64_t start = 0;
    for (int64_t size : sizes) {
      pieces.push_back(JUST(slice(input, dim, start, start + size)));
      start += size;
    }
  }
  SetSplitHistory(op, input, dim, false, pieces);
  return pieces;
}

// Where pieces end, for pieces as equal as can be, the larger ones first.
IndexList EqualSizes(int64_t length, int64_t sections) {
  IndexList sizes;
  for (int64_t i = 0; i < sections; ++i) {
    sizes.push_back(length / sections + (i < length % sections ? 1 : 0));
  }
  return sizes;
}

// Python's slices between the indices.
IndexList SizesBetween(int64_t length, const IndexList& indices, bool* ordered) {
  IndexList sizes;
  int64_t start = 0;
  *ordered = true;
  for (size_t i = 0; i <= indices.size(); ++i) {
    int64_t end = length;
    if (i < indices.size()) {
      end = std::clamp<int64_t>(indices[i] < 0 ? indices[i] + length : indices[i], 0, length);
    }
    *ordered = *ordered && end >= start;
    sizes.push_back(end - start);
    start = end;
  }
  return sizes;
}

// More tensors than any program wants: memory would end before they are made.
constexpr int64_t kMostPieces = int64_t{1} << 22;

Maybe<void> CheckPieces(const char* op, int64_t count) {
  if (count > kMostPieces) {
    return RuntimeError("[{}] expects at most {} pieces, got {}", op, kMostPieces, count);
  }
  return Ok();
}

Maybe<int> SplitDim(const char* op, const TensorPtr& input, int64_t dim) {
  return static_cast<int>(JUST(WrapSliceDim(op, input, dim)));
}

// Of one dim: the only one; of more: the second (hsplit), the first (vsplit).
Maybe<int64_t> EqualPart(const char* op, const TensorPtr& input, int64_t dim, int64_t sections) {
  const int64_t length = input->shape()[static_cast<int>(dim)];
  if (sections <= 0 || length % sections != 0) {
    return RuntimeError("[{}] expects a number of sections that divides size {} of dim {}, got {}",
                        op, length, dim, sections);
  }
  return length / sections;
}

Maybe<int64_t> HsplitDim(const TensorPtr& input) {
  if (input->ndim() == 0) {
    return RuntimeError("[hsplit] expects a tensor of at least one dim, got ()");
  }
  return static_cast<int64_t>(input->ndim() == 1 ? 0 : 1);
}

Maybe<void> CheckVsplit(const TensorPtr& input) {
  if (input->ndim() < 2) {
    return RuntimeError("[vsplit] expects a tensor of at least two dims, got {}", input->shape());
  }
  return Ok();
}

template <typename Fn>
Maybe<TensorTuple> ForAll(const TensorTuple& tensors, const Fn& fn) {
  TensorTuple out;
  out.reserve(tensors.size());
  for (const TensorPtr& tensor : tensors) { out.push_back(JUST(fn(tensor))); }
  return out;
}

}  // namespace

Maybe<TensorTuple> CatBackward(const TensorPtr& dy, const std::vector<Dims>& shapes, int64_t dim) {
  IndexList sizes;
  for (const Dims& shape : shapes) {
    const bool nothing = shape.size() == 1 && shape[0] == 0;
    sizes.push_back(nothing ? 0 : shape[static_cast<int>(dim)]);
  }
  TensorTuple pieces = JUST(CutAt("cat", dy, static_cast<int>(dim), sizes));
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i]->shape() != shapes[i]) { pieces[i] = JUST(reshape(pieces[i], shapes[i])); }
  }
  return pieces;
}

Maybe<TensorTuple> Unbind(const TensorPtr& input, int64_t dim) {
  const int at = JUST(SplitDim("unbind", input, dim));
  JUST(CheckPieces("unbind", input->shape()[at]));
  TensorTuple pieces;
  {
    const ScopedGradMode mode(false);
    for (int64_t i = 0; i < input->shape()[at]; ++i) {
      pieces.push_back(JUST(select(input, at, i)));
    }
  }
  SetSplitHistory("unbind", input, at, true, pieces);
  return pieces;
}

Maybe<TensorTuple> SplitSections(const TensorPtr& input, const IndexList& sizes, int64_t dim) {
  const int at = JUST(SplitDim("split", input, dim));
  int64_t total = 0;
  bool fits = true;
  for (int64_t size : sizes) {
    fits = fits && size >= 0 && !__builtin_add_overflow(total, size, &total);
  }
  if (!fits || total != input->shape()[at]) {
    std::string text;
    for (int64_t size : sizes) { text += (text.empty() ? "" : ", ") + std::to_string(size); }
    return RuntimeError("[split] expects sizes that are not negative and add up to size {} of dim "
                        "{}, got [{}]",
                        input->shape()[at], at, text);
  }
  return CutAt("split", input, at, sizes);
}

Maybe<TensorTuple> Split(const TensorPtr& input, int64_t size, int64_t dim) {
  const int at = JUST(SplitDim("split", input, dim));
  const int64_t length = input->shape()[at];
  if (size < 0 || (size == 0 && length > 0)) {
    return RuntimeError("[split] expects a size of at least 1, got {} for dim {} of {}", size, at,
                        input->shape());
  }
  JUST(CheckPieces("split", length / std::max<int64_t>(size, 1)));
  IndexList sizes;
  int64_t rest = length;
  do {
    sizes.push_back(std::min(size, rest));
    rest -= sizes.back();
  } while (rest > 0);
  return CutAt("split", input, at, sizes);
}

Maybe<TensorTuple> SplitLike(const TensorPtr& input, const TensorTuple& like, int64_t axis) {
  const int at = JUST(SplitDim("split_like", input, axis));
  IndexList sizes;
  for (const TensorPtr& tensor : like) {
    if (tensor->ndim() <= at) {
      return RuntimeError("[split_like] expects tensors with dim {}, got one of {}", at,
                          tensor->shape());
    }
    sizes.push_back(tensor->shape()[at]);
  }
  return SplitSections(input, sizes, at);
}

Maybe<TensorTuple> Chunk(const TensorPtr& input, int64_t chunks, int64_t dim) {
  const int at = JUST(SplitDim("chunk", input, dim));
  if (chunks < 1) { return RuntimeError("[chunk] expects at least 1 chunk, got {}", chunks); }
  const int64_t length = input->shape()[at];
  JUST(CheckPieces("chunk", length == 0 ? chunks : std::min(chunks, length)));
  if (length == 0) { return CutAt("chunk", input, at, IndexList(static_cast<size_t>(chunks), 0)); }
  return Split(input, length / chunks + (length % chunks != 0 ? 1 : 0), at);
}

Maybe<TensorTuple> TensorSplit(const TensorPtr& input, int64_t sections, int64_t dim) {
  const int at = JUST(SplitDim("tensor_split", input, dim));
  if (sections < 1) {
    return RuntimeError("[tensor_split] expects at least 1 section, got {}", sections);
  }
  JUST(CheckPieces("tensor_split", sections));
  return CutAt("tensor_split", input, at, EqualSizes(input->shape()[at], sections));
}

Maybe<TensorTuple> TensorSplitAt(const TensorPtr& input, const IndexList& indices, int64_t dim) {
  const int at = JUST(SplitDim("tensor_split", input, dim));
  bool ordered = true;
  const IndexList sizes = SizesBetween(input->shape()[at], indices, &ordered);
  if (ordered) { return CutAt("tensor_split", input, at, sizes); }
  // As Python's slices: what ends before it begins is empty, and the next begins at that end.
  TensorTuple pieces;
  int64_t start = 0;
  for (int64_t size : sizes) {
    pieces.push_back(JUST(slice(input, at, start, start + std::max<int64_t>(size, 0))));
    start += size;
  }
  return pieces;
}

Maybe<TensorTuple> Hsplit(const TensorPtr& input, int64_t sections) {
  const int64_t dim = JUST(HsplitDim(input));
  return Split(input, JUST(EqualPart("hsplit", input, dim, sections)), dim);
}

Maybe<TensorTuple> HsplitAt(const TensorPtr& input, const IndexList& indices) {
  return TensorSplitAt(input, indices, JUST(HsplitDim(input)));
}

Maybe<TensorTuple> Vsplit(const TensorPtr& input, int64_t sections) {
  JUST(CheckVsplit(input));
  return Split(input, JUST(EqualPart("vsplit", input, 0, sections)), 0);
}

Maybe<TensorTuple> VsplitAt(const TensorPtr& input, const IndexList& indices) {
  JUST(CheckVsplit(input));
  return TensorSplitAt(input, indices, 0);
}

Maybe<TensorPtr> Atleast1d(const TensorPtr& input) {
  return input->ndim() >= 1 ? input : reshape(input, Dims{1});
}

Maybe<TensorPtr> Atleast2d(const TensorPtr& input) {
  if (input->ndim() >= 2) { return input; }
  return input->ndim() == 1 ? unsqueeze(input, 0) : reshape(input, Dims{1, 1});
}

Maybe<TensorPtr> Atleast3d(const TensorPtr& input) {
  if (input->ndim() >= 3) { return input; }
  return input->ndim() == 0 ? reshape(input, Dims{1, 1, 1}) : unsqueeze(JUST(Atleast2d(input)), -1);
}

Maybe<TensorTuple> AllAtleast1d(const TensorTuple& tensors) { return ForAll(tensors, Atleast1d); }
Maybe<TensorTuple> AllAtleast2d(const TensorTuple& tensors) { return ForAll(tensors, Atleast2d); }
Maybe<TensorTuple> AllAtleast3d(const TensorTuple& tensors) { return ForAll(tensors, Atleast3d); }

Maybe<TensorPtr> Hstack(const TensorTuple& tensors) {
  const TensorTuple all = JUST(AllAtleast1d(tensors));
  return cat(all, !all.empty() && all[0]->ndim() == 1 ? 0 : 1);
}

Maybe<TensorPtr> Vstack(const TensorTuple& tensors) { return cat(JUST(AllAtleast2d(tensors)), 0); }
Maybe<TensorPtr> Dstack(const TensorTuple& tensors) { return cat(JUST(AllAtleast3d(tensors)), 2); }

Maybe<TensorPtr> ColumnStack(const TensorTuple& tensors) {
  const auto as_columns = [](const TensorPtr& tensor) -> Maybe<TensorPtr> {
    if (tensor->ndim() > 1) { return tensor; }
    return reshape(tensor, Dims{tensor->Count(), 1});
  };
  return cat(JUST(ForAll(tensors, as_columns)), 1);
}

Maybe<TensorTuple> Meshgrid(const TensorTuple& tensors, const std::string& indexing) {
  JUST(CheckSome("meshgrid", tensors));
  const bool swaps = indexing == "xy" && tensors.size() > 1;
  if (indexing != "ij" && indexing != "xy") {
    return RuntimeError("[meshgrid] expects indexing \"ij\" or \"xy\", got \"{}\"", indexing);
  }
  Dims shape;
  for (const TensorPtr& tensor : tensors) {
    if (tensor->ndim() > 1 || shape.size() == kMaxDims) {
      return RuntimeError("[meshgrid] expects at most {} vectors, got {} tensors, one of shape {}",
                          kMaxDims, tensors.size(), tensor->shape());
    }
    if (tensor->dtype() != tensors[0]->dtype()) {
      return RuntimeError("[meshgrid] expects vectors of one dtype, got {} and {}",
                          DataTypeName(tensors[0]->dtype()), DataTypeName(tensor->dtype()));
    }
    shape.PushBack(tensor->Count());
  }
  TensorTuple out;
  for (size_t i = 0; i < tensors.size(); ++i) {
    Dims own(shape.size(), 1);
    own[static_cast<int>(i)] = tensors[i]->Count();
    out.push_back(JUST(expand(JUST(reshape(tensors[i], own)), shape)));
    if (swaps) { out.back() = JUST(transpose(out.back(), 0, 1)); }
  }
  return out;
}

Maybe<TensorTuple> BroadcastTensors(const TensorTuple& tensors) {
  Shape shape;
  for (const TensorPtr& tensor : tensors) {
    shape = JUST(BroadcastShapes("broadcast_tensors", shape, tensor->shape()));
  }
  return ForAll(tensors, [&](const TensorPtr& tensor) { return expand(tensor, shape); });
}

}  // namespace composites

}  // namespace oneflow::functional
