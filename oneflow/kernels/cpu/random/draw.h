// Draws numbers a chunk at a time into a small buffer, and stores them in an output of any dtype.
//
// A chunk begins at an even element, so that a block's two numbers stay together: the same numbers
// for any number of threads. Thread safety: pure functions. Blocking: waits for its own threads only.
#ifndef ONEFLOW_KERNELS_CPU_RANDOM_DRAW_H_
#define ONEFLOW_KERNELS_CPU_RANDOM_DRAW_H_

#include <cstdint>

#include "oneflow/core/generator.h"
#include "oneflow/core/philox.h"
#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

inline constexpr int64_t kDrawChunk = 512;
inline constexpr int64_t kDrawGrain = 4096;

// out[at ... at + n) = values, converted. `from`: kInt64 or kDouble. REQUIRES a dense output.
void StoreDrawn(const ArrayView& out, int64_t at, const void* values, DataType from, int64_t n);

// Sixty-four random bits: number `which` (0 or 1) of a block.
inline uint64_t DrawnBits(const PhiloxBlock& block, int which) {
  return static_cast<uint64_t>(block.v[2 * which]) << 32 | block.v[2 * which + 1];
}

// The integer part of bits / 2^64 * range: uniform in [0, range) within 2^-64 * range.
inline uint64_t BelowRange(uint64_t bits, uint64_t range) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(bits) * range >> 64);
}

// Calls make(values, begin, n) for chunks of the output, and stores what it made.
template <typename T, typename Make>
void DrawInto(const ArrayView& out, DataType from, int threads, const Make& make) {
  ParallelFor(threads, out.Count(), kDrawGrain, [&](int64_t begin, int64_t end) {
    alignas(64) T values[kDrawChunk];
    for (int64_t at = begin; at < end; at += kDrawChunk) {
      const int64_t n = end - at < kDrawChunk ? end - at : kDrawChunk;
      make(values, at, n);
      StoreDrawn(out, at, values, from, n);
    }
  });
}

// nullptr, or why the output cannot be stored to.
const char* AcceptDenseOutput(const KernelCall& call);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_RANDOM_DRAW_H_
