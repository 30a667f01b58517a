#include "oneflow/kernels/cpu/optim/list_chunks.h"

#include <algorithm>
#include <cstring>

#include "oneflow/kernels/cpu/elementwise_loops.h"

namespace oneflow {
namespace cpu {

namespace {

// Moves n elements between dense memory and places [begin, begin + n) of a strided array.
template <typename T, bool kToDense>
void Move(const ArrayView& view, int64_t begin, int64_t n, T* dense) {
  T* data = view.Data<T>();
  if (view.contiguous) {
    kToDense ? std::memcpy(dense, data + begin, static_cast<size_t>(n) * sizeof(T))
             : std::memcpy(data + begin, dense, static_cast<size_t>(n) * sizeof(T));
    return;
  }
  int64_t index[kMaxDims];
  int64_t offset = 0;
  int64_t rest = begin;
  for (int d = view.ndim - 1; d >= 0; --d) {
    index[d] = rest % view.shape[d];
    rest /= view.shape[d];
    offset += index[d] * view.strides[d];
  }
  for (int64_t i = 0; i < n; ++i) {
    if (kToDense) {
      dense[i] = data[offset];
    } else {
      data[offset] = dense[i];
    }
    for (int d = view.ndim - 1; d >= 0; --d) {
      offset += view.strides[d];
      if (++index[d] < view.shape[d]) { break; }
      offset -= view.shape[d] * view.strides[d];
      index[d] = 0;
    }
  }
}

template <bool kToDense>
void MoveAny(const ArrayView& view, int64_t begin, int64_t n, void* dense) {
  switch (SizeOf(view.dtype)) {
    case 2: return Move<uint16_t, kToDense>(view, begin, n, static_cast<uint16_t*>(dense));
    case 4: return Move<uint32_t, kToDense>(view, begin, n, static_cast<uint32_t*>(dense));
    default: return Move<uint64_t, kToDense>(view, begin, n, static_cast<uint64_t*>(dense));
  }
}

UnaryLoop Cast(DataType from, DataType to) {
  return GetElementwiseLoops().cast[static_cast<int>(from)][static_cast<int>(to)];
}

// No two indices share an element, and there are no gaps.
bool IsDense(const ArrayView& view) {
  int order[kMaxDims];
  int n = 0;
  for (int d = 0; d < view.ndim; ++d) {
    if (view.shape[d] != 1) { order[n++] = d; }
  }
  std::sort(order, order + n, [&](int a, int b) { return view.strides[a] < view.strides[b]; });
  int64_t stride = 1;
  for (int i = 0; i < n; ++i) {
    if (view.strides[order[i]] != stride) { return false; }
    stride *= view.shape[order[i]];
  }
  return true;
}

}  // namespace

namespace {
// The memory of this thread's last ListChunks, for the next: a step in a graph takes none.
thread_local std::vector<int64_t> spare_first;
thread_local std::vector<int64_t> spare_elements;
}  // namespace

ListChunks::~ListChunks() {
  spare_first.swap(first_);
  spare_elements.swap(elements_);
}

ListChunks::ListChunks(const ArrayView* arrays, int count) {
  first_.swap(spare_first);
  elements_.swap(spare_elements);
  first_.clear();
  elements_.clear();
  first_.reserve(static_cast<size_t>(count) + 1);
  elements_.reserve(static_cast<size_t>(count));
  int64_t chunks = 0;
  for (int i = 0; i < count; ++i) {
    const int64_t n = arrays[i].Count();
    first_.push_back(chunks);
    elements_.push_back(n);
    chunks += (n + kChunk - 1) / kChunk;
  }
  first_.push_back(chunks);
}

ListChunks::Piece ListChunks::operator[](int64_t chunk) const {
  const auto after = std::upper_bound(first_.begin(), first_.end(), chunk);
  const int64_t array = after - first_.begin() - 1;
  const auto i = static_cast<size_t>(array);
  const int64_t begin = (chunk - first_[i]) * kChunk;
  return {static_cast<int>(array), begin, std::min(begin + kChunk, elements_[i])};
}

bool SameDenseOrder(const ArrayView* const* arrays, int count) {
  bool contiguous = true;
  for (int i = 0; i < count; ++i) { contiguous = contiguous && arrays[i]->contiguous; }
  if (contiguous) { return true; }
  const ArrayView& first = *arrays[0];
  for (int i = 1; i < count; ++i) {
    if (!std::equal(first.strides, first.strides + first.ndim, arrays[i]->strides)) {
      return false;
    }
  }
  return IsDense(first);
}

void* StagedElements::Load(const ArrayView& view, int64_t begin, int64_t n) {
  if (SizeOf(view.dtype) >= sizeof(float)) {
    MoveAny<true>(view, begin, n, numbers_);
  } else {
    MoveAny<true>(view, begin, n, packed_);
    Cast(view.dtype, DataType::kFloat)(numbers_, packed_, n);
  }
  return numbers_;
}

void StagedElements::Store(const ArrayView& view, int64_t begin, int64_t n) {
  if (SizeOf(view.dtype) >= sizeof(float)) { return MoveAny<false>(view, begin, n, numbers_); }
  Cast(DataType::kFloat, view.dtype)(packed_, numbers_, n);
  MoveAny<false>(view, begin, n, packed_);
}

}  // namespace cpu
}  // namespace oneflow
