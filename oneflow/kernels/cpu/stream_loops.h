// Stores that go past the caches, for results too large to stay in them: the processor need not read
// a line that it is about to overwrite whole. Measured (AVX-512, one thread, x + y, 64 MB): 1.5 times
// as fast.
//
// Thread safety: pure functions. A thread that used Copy calls Fence before others may read.
#ifndef ONEFLOW_KERNELS_CPU_STREAM_LOOPS_H_
#define ONEFLOW_KERNELS_CPU_STREAM_LOOPS_H_

#include <cstdint>

#include "oneflow/kernels/cpu/cache_size.h"
#include "oneflow/kernels/cpu/isa.h"

namespace oneflow {
namespace cpu {

struct StreamLoops {
  // `to` and `from` are aligned to 64 bytes.
  void (*copy)(void* to, const void* from, int64_t bytes);
  void (*fence)();
};

ONEFLOW_DECLARE_ISA_TABLE(StreamLoops, GetStreamLoops);

// Elements of a block that is computed in the first-level cache and copied out from there.
inline constexpr int64_t kStreamBlock = 1024;

// Is an output of so many bytes, that is no operand's memory, better streamed? `touched`: bytes of it
// and of all operands. What fits the last cache does better there (measured: square of 16 MB in 32 MB
// of cache 270 us, streamed 415; x + y, where it does not fit, 670 us, streamed 560).
inline bool WorthStreaming(const void* to, int64_t bytes, int64_t touched) {
  constexpr int64_t kLeast = int64_t{16} << 20;
  return bytes >= kLeast && touched > LastCacheBytes() && reinterpret_cast<uintptr_t>(to) % 64 == 0;
}

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_STREAM_LOOPS_H_
