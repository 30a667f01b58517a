// Some of the 16 neighbouring numbers of one pixel, of float32 or of bfloat16 (as bits), in a vector register of float32.
//
// Included only by files that of_isa_kernels() compiles: everything is in an unnamed namespace.
// Thread safety: pure functions. A thread that used Put with `stream` calls StreamLoops::fence before others read.
#ifndef ONEFLOW_KERNELS_CPU_BLOCK_LANES_H_
#define ONEFLOW_KERNELS_CPU_BLOCK_LANES_H_

#include <cstdint>

#include "oneflow/kernels/cpu/vector_width.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define ONEFLOW_INLINE inline __attribute__((always_inline))

namespace oneflow {
namespace cpu {
namespace {

typedef float Lanes __attribute__((vector_size(kVectorBytes)));
typedef int32_t Bits __attribute__((vector_size(kVectorBytes)));
typedef uint32_t Words __attribute__((vector_size(kVectorBytes)));
typedef uint16_t Halves __attribute__((vector_size(kVectorBytes / 2)));
constexpr int64_t kPixel = 16;
constexpr int64_t kLanes = kVectorLanes<float>;

ONEFLOW_INLINE Lanes Widen(const Halves& halves) {
  return reinterpret_cast<Lanes>(__builtin_convertvector(halves, Words) << 16);
}

// To nearest even; NaN stays a (quiet) NaN.
ONEFLOW_INLINE Halves Shorten(const Lanes& lanes) {
  const Words bits = reinterpret_cast<Words>(lanes);
  const Words rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const Words nan = (bits >> 16) | 0x40;
  return __builtin_convertvector(lanes != lanes ? nan : rounded, Halves);
}

ONEFLOW_INLINE Lanes Load(const float* from) {
  Lanes lanes;
  __builtin_memcpy(&lanes, from, sizeof(lanes));
  return lanes;
}
ONEFLOW_INLINE Lanes Load(const uint16_t* from) {
  Halves halves;
  __builtin_memcpy(&halves, from, sizeof(halves));
  return Widen(halves);
}

ONEFLOW_INLINE void Store(float* to, const Lanes& lanes) {
  __builtin_memcpy(to, &lanes, sizeof(lanes));
}
ONEFLOW_INLINE void Store(uint16_t* to, const Lanes& lanes) {
  const Halves halves = Shorten(lanes);
  __builtin_memcpy(to, &halves, sizeof(halves));
}

// What a load gives after the store.
ONEFLOW_INLINE Lanes AsStored(const float*, const Lanes& lanes) { return lanes; }
ONEFLOW_INLINE Lanes AsStored(const uint16_t*, const Lanes& lanes) { return Widen(Shorten(lanes)); }

// A store that goes past the caches where `stream` says so. REQUIRES alignment to what is stored then.
ONEFLOW_INLINE void Put(float* to, const Lanes& lanes, bool stream) {
#if defined(__AVX512F__)
  if (stream) { return _mm512_stream_ps(to, reinterpret_cast<__m512>(lanes)); }
#elif defined(__AVX2__)
  if (stream) { return _mm256_stream_ps(to, reinterpret_cast<__m256>(lanes)); }
#elif defined(__x86_64__)
  if (stream) { return _mm_stream_ps(to, reinterpret_cast<__m128>(lanes)); }
#endif
  Store(to, lanes);
}
ONEFLOW_INLINE void Put(uint16_t* to, const Lanes& lanes, bool stream) {
#if defined(__AVX512F__)
  if (stream) {
    const Halves halves = Shorten(lanes);
    return _mm256_stream_si256(reinterpret_cast<__m256i*>(to), reinterpret_cast<__m256i>(halves));
  }
#endif
  Store(to, lanes);
}

// The number where the condition holds, else 0.
ONEFLOW_INLINE Lanes Where(const Bits& holds, const Lanes& lanes) {
  return reinterpret_cast<Lanes>(reinterpret_cast<Bits>(lanes) & holds);
}

// Calls body(first lane) for each part of a pixel.
template <typename Body>
ONEFLOW_INLINE void ForLanes(const Body& body) {
  for (int64_t lane = 0; lane < kPixel; lane += kLanes) { body(lane); }
}

}  // namespace
}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_BLOCK_LANES_H_
