// The indices of a call, checked and turned into offsets.
//
// Thread safety: pure functions.
#ifndef ONEFLOW_KERNELS_CPU_INDEXING_INDICES_H_
#define ONEFLOW_KERNELS_CPU_INDEXING_INDICES_H_

#include <cstdint>

#include "oneflow/kernels/attrs_indexing.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

inline bool IsIndexType(DataType dtype) {
  return dtype == DataType::kInt64 || dtype == DataType::kInt32;
}

// IndexError: `value` at `position` (row-major in an index of `index`'s shape) is none for `dim` of
// `indexed`.
ErrorPtr BadIndex(int64_t caller, const ArrayView& indexed, int dim, const ArrayView& index,
                  int64_t position, int64_t value);

// The index operands indices[0 .. count), all of one shape, point into dims `dim`, `dim` + 1, ... of
// `indexed`: offsets[b] is where they point for element b, in elements. IndexError for the first one
// out of range; nothing of `indexed` has been touched then.
Maybe<void> OffsetsOf(const IndexAtAttrs& attrs, const ArrayView& indexed, const ArrayView* indices,
                      int count, int threads, int64_t* offsets);

// An index in [0, size) from one of [-size, size), or of [0, size); -1 where it is none.
inline int64_t Wrap(int64_t index, int64_t size, bool negative) {
  if (static_cast<uint64_t>(index) < static_cast<uint64_t>(size)) { return index; }
  const int64_t wrapped = index + size;
  return negative && index < 0 && wrapped >= 0 ? wrapped : -1;
}

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_INDEXING_INDICES_H_
