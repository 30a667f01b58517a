// The dense inner loops over indices, one table for each instruction set.
//
// Thread safety: constants.
#ifndef ONEFLOW_KERNELS_CPU_INDEXING_INDEX_LOOPS_H_
#define ONEFLOW_KERNELS_CPU_INDEXING_INDEX_LOOPS_H_

#include <cstdint>

#include "oneflow/kernels/cpu/isa.h"

namespace oneflow {
namespace cpu {

struct IndexLoops {
  // Whether all of index[0..n) are in [0, size).
  bool (*in_range_32)(const int32_t* index, int64_t n, int64_t size);
  bool (*in_range_64)(const int64_t* index, int64_t n, int64_t size);
  // How many of x[0..n) are not 0.
  int64_t (*count_bytes)(const uint8_t* x, int64_t n);
  // Writes to places[0..] which of x[0..n) are not 0, and returns how many; n < 2^16. One place more
  // than there are may be written to.
  int64_t (*find_bytes)(const uint8_t* x, int64_t n, uint16_t* places);

  bool InRange(const int32_t* index, int64_t n, int64_t size) const {
    return in_range_32(index, n, size);
  }
  bool InRange(const int64_t* index, int64_t n, int64_t size) const {
    return in_range_64(index, n, size);
  }
};
ONEFLOW_DECLARE_ISA_TABLE(IndexLoops, GetIndexLoops);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_INDEXING_INDEX_LOOPS_H_
