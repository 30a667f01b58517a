// SortKeyed: sorts keyed elements by radix, least significant digit first.
//
// Digits that all elements share cost a look at one counter. Short arrays are sorted by comparison.
// Thread safety: pure functions. Blocking: waits for its own threads only.
#ifndef ONEFLOW_KERNELS_CPU_SORT_RADIX_SORT_H_
#define ONEFLOW_KERNELS_CPU_SORT_RADIX_SORT_H_

#include <cstdint>

#include "oneflow/kernels/cpu/sort/sort_keys.h"

namespace oneflow {
namespace cpu {

// Sorts x[0..n), whose indices ascend, by their keys. `spare` has room for n more. Returns where the
// result is: x or spare. With threads > 1 all of them work on the one array. `bits`: no key has a
// bit set above these.
Keyed32* SortKeyed(Keyed32* x, Keyed32* spare, int64_t n, int threads, int bits = 32);
Keyed64* SortKeyed(Keyed64* x, Keyed64* spare, int64_t n, int threads, int bits = 64);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_SORT_RADIX_SORT_H_
