// Stores of whole cache lines that go past the caches, inside a loop: see stream_loops.h.
//
// Included only by files that of_isa_kernels() compiles: everything is in an unnamed namespace.
// Thread safety: pure functions. A thread that used them calls StreamLoops::fence before others read.
#ifndef ONEFLOW_KERNELS_CPU_STREAM_LINE_H_
#define ONEFLOW_KERNELS_CPU_STREAM_LINE_H_

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace oneflow {
namespace cpu {
namespace {

#if defined(__AVX512F__)
inline void StreamLine(void* to, const void* from) {
  _mm512_stream_si512(static_cast<__m512i*>(to), _mm512_load_si512(from));
}
#elif defined(__AVX2__)
inline void StreamLine(void* to, const void* from) {
  for (int i = 0; i < 2; ++i) {
    _mm256_stream_si256(static_cast<__m256i*>(to) + i,
                        _mm256_load_si256(static_cast<const __m256i*>(from) + i));
  }
}
#elif defined(__x86_64__)
inline void StreamLine(void* to, const void* from) {
  for (int i = 0; i < 4; ++i) {
    _mm_stream_si128(static_cast<__m128i*>(to) + i,
                     _mm_load_si128(static_cast<const __m128i*>(from) + i));
  }
}
#else
inline void StreamLine(void* to, const void* from) { __builtin_memcpy(to, from, 64); }
#endif

// out[i] = formula(i) for i below n. REQUIRES `out` aligned to a line, and that it is no operand.
// A line is computed in a register: kept from unrolling, the inner loop becomes one vector.
template <typename T, typename Formula>
inline __attribute__((always_inline)) void StreamAll(T* out, int64_t n, const Formula& formula) {
  constexpr int64_t kLine = 64 / sizeof(T);
  int64_t i = 0;
  for (; i + kLine <= n; i += kLine) {
    alignas(64) T line[kLine];
#pragma GCC unroll 1
    for (int64_t k = 0; k < kLine; ++k) { line[k] = formula(i + k); }
    StreamLine(out + i, line);
  }
  for (; i < n; ++i) { out[i] = formula(i); }
}

}  // namespace
}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_STREAM_LINE_H_
