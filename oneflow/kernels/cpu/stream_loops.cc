// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/stream_loops.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

#if defined(__x86_64__)
#if defined(__AVX512F__)
void CopyLine(char* to, const char* from) {
  _mm512_stream_si512(reinterpret_cast<__m512i*>(to),
                      _mm512_load_si512(static_cast<const void*>(from)));
}
#elif defined(__AVX2__)
void CopyLine(char* to, const char* from) {
  for (int i = 0; i < 64; i += 32) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i),
                        _mm256_load_si256(reinterpret_cast<const __m256i*>(from + i)));
  }
}
#else
void CopyLine(char* to, const char* from) {
  for (int i = 0; i < 64; i += 16) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm_load_si128(reinterpret_cast<const __m128i*>(from + i)));
  }
}
#endif
void Fence() { _mm_sfence(); }
#else
void CopyLine(char* to, const char* from) { __builtin_memcpy(to, from, 64); }
void Fence() {}
#endif

void Copy(void* to, const void* from, int64_t bytes) {
  char* out = static_cast<char*>(to);
  const char* in = static_cast<const char*>(from);
  int64_t at = 0;
  for (; at + 64 <= bytes; at += 64) { CopyLine(out + at, in + at); }
  if (at < bytes) { __builtin_memcpy(out + at, in + at, static_cast<unsigned long>(bytes - at)); }
}

constexpr StreamLoops kLoops = {&Copy, &Fence};

}  // namespace

const StreamLoops& GetStreamLoops() { return kLoops; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
