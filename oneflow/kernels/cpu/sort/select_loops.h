// Which numbers of a vector can be among its first: two quick looks at all of them, for topk.
//
// "First" is the greatest ones, or the least; a NaN is greater than every number. Thread safety: constants.
#ifndef ONEFLOW_KERNELS_CPU_SORT_SELECT_LOOPS_H_
#define ONEFLOW_KERNELS_CPU_SORT_SELECT_LOOPS_H_

#include <cstdint>

#include "oneflow/kernels/cpu/isa.h"

namespace oneflow {
namespace cpu {

// Numbers that `bound` compares with one another.
inline constexpr int kSelectLanes = 64;

struct SelectLoops {
  // A number that at least k of x[0..n) do not go behind. It is the k-th of the firsts of 64 parts,
  // so few others do not go behind it either. REQUIRES n >= kSelectLanes, k <= kSelectLanes.
  float (*bound)(const float* x, int64_t n, int64_t k, bool greatest);
  // The indices of those that do not go behind `bound`, in order, at most `room`; returns how many
  // there are, or room + 1 where there are more.
  int64_t (*collect)(const float* x, int64_t n, float bound, bool greatest, int64_t* indices,
                     int64_t room);
};

ONEFLOW_DECLARE_ISA_TABLE(SelectLoops, GetSelectLoops);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_SORT_SELECT_LOOPS_H_
