#include "oneflow/kernels/cpu/indexing/indices.h"

#include <algorithm>
#include <atomic>

#include "oneflow/core/dims.h"
#include "oneflow/device/cpu/parallel.h"

namespace oneflow {
namespace cpu {

namespace {

constexpr int64_t kGrain = 16384;

Dims PositionAt(const ArrayView& index, int64_t position) {
  Dims at(index.ndim, 0);
  for (int d = index.ndim - 1; d >= 0; --d) {
    at[d] = position % index.shape[d];
    position /= index.shape[d];
  }
  return at;
}

int64_t ElementAt(const ArrayView& index, int64_t position) {
  const Dims at = PositionAt(index, position);
  int64_t offset = 0;
  for (int d = 0; d < index.ndim; ++d) { offset += at[d] * index.strides[d]; }
  return offset;
}

// One index operand: adds what its elements [begin, end) point at. The first bad one lowers *bad.
struct Adder {
  const ArrayView& index;
  int64_t size;    // of the dim that it points into
  int64_t stride;  // of that dim
  bool negative;
  int64_t* offsets;
  std::atomic<int64_t>* bad;

  template <typename I>
  void Run(int64_t begin, int64_t end) const {
    const I* data = index.Data<I>();
    const int64_t inner = index.ndim == 0 ? 1 : index.shape[index.ndim - 1];
    const int64_t step = index.ndim == 0 ? 0 : index.strides[index.ndim - 1];
    for (int64_t at = begin; at < end;) {
      const int64_t column = at % inner;
      const int64_t n = std::min(inner - column, end - at);
      const I* from = data + (index.contiguous ? at : ElementAt(index, at));
      AddRun(from, index.contiguous ? 1 : step, at, n);
      at += n;
    }
  }

  template <typename I>
  void AddRun(const I* from, int64_t step, int64_t at, int64_t n) const {
    for (int64_t i = 0; i < n; ++i) {
      const int64_t wrapped = Wrap(static_cast<int64_t>(from[i * step]), size, negative);
      if (__builtin_expect(wrapped < 0, 0)) { return Lower(at + i); }
      offsets[at + i] += wrapped * stride;
    }
  }

  void Lower(int64_t position) const {
    int64_t seen = bad->load(std::memory_order_relaxed);
    while (position < seen && !bad->compare_exchange_weak(seen, position)) {}
  }
};

int64_t ValueAt(const ArrayView& index, int64_t position) {
  const int64_t at = ElementAt(index, position);
  return index.dtype == DataType::kInt32 ? index.Data<int32_t>()[at] : index.Data<int64_t>()[at];
}

}  // namespace

ErrorPtr BadIndex(int64_t caller, const ArrayView& indexed, int dim, const ArrayView& index,
                  int64_t position, int64_t value) {
  const int64_t size = indexed.shape[dim];
  return IndexError("[{}] expects indices in [{}, {}) for dim {} of shape {}, got {} at {} of the "
                    "indices",
                    NameOf(caller), WrapsNegative(caller) ? -size : 0, size, dim,
                    Dims(indexed.shape, indexed.ndim), value, PositionAt(index, position));
}

Maybe<void> OffsetsOf(const IndexAtAttrs& attrs, const ArrayView& indexed, const ArrayView* indices,
                      int count, int threads, int64_t* offsets) {
  const int64_t total = indices[0].Count();
  std::fill(offsets, offsets + total, 0);
  for (int j = 0; j < count; ++j) {
    const int dim = static_cast<int>(attrs.dim) + j;
    std::atomic<int64_t> bad{total};
    const Adder adder{
        indices[j], indexed.shape[dim], indexed.strides[dim], WrapsNegative(attrs.caller), offsets,
        &bad};
    ParallelFor(threads, total, kGrain, [&](int64_t begin, int64_t end) {
      if (indices[j].dtype == DataType::kInt32) { return adder.Run<int32_t>(begin, end); }
      adder.Run<int64_t>(begin, end);
    });
    const int64_t first = bad.load();
    if (first < total) {
      return BadIndex(attrs.caller, indexed, dim, indices[j], first, ValueAt(indices[j], first));
    }
  }
  return Ok();
}

}  // namespace cpu
}  // namespace oneflow
