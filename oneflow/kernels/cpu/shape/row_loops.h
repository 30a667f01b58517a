// Rows of elements, copied with a border, turned round or woven together; by the size of an element.
//
// Thread safety: constants.
#ifndef ONEFLOW_KERNELS_CPU_SHAPE_ROW_LOOPS_H_
#define ONEFLOW_KERNELS_CPU_SHAPE_ROW_LOOPS_H_

#include <cstdint>

#include "oneflow/kernels/cpu/isa.h"

namespace oneflow {
namespace cpu {

struct RowLoops {
  // `before` times the value, the n elements of `from`, `after` times the value.
  void (*pad)(void* to, const void* from, const void* value, int64_t before, int64_t n,
              int64_t after);
  // `rows` such rows, one behind the other, of as many rows of `from`, that follow each other too.
  void (*pad_rows)(void* to, const void* from, const void* value, int64_t before, int64_t n,
                   int64_t after, int64_t rows);
  // The n elements of `from`, the last one first.
  void (*turn)(void* to, const void* from, int64_t n);
  // to[count * i + k] = from[k][i] for i < n, k < count.
  void (*weave)(void* to, const void* const* from, int64_t count, int64_t n);
};

// Of elements of 1, 2, 4 and 8 bytes.
struct RowTable {
  RowLoops at[4];
};

ONEFLOW_DECLARE_ISA_TABLE(RowTable, GetRowTable);

inline const RowLoops& RowLoopsOf(int64_t size) {
  return GetRowTable().at[size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3];
}

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_SHAPE_ROW_LOOPS_H_
