// How much the last cache before memory holds.
//
// Thread safety: pure.
#ifndef ONEFLOW_KERNELS_CPU_CACHE_SIZE_H_
#define ONEFLOW_KERNELS_CPU_CACHE_SIZE_H_

#include <cstdint>

namespace oneflow {
namespace cpu {

// In bytes; 32 MiB where the machine does not say.
int64_t LastCacheBytes();

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_CACHE_SIZE_H_
