// BFloat16: the upper half of a float32, as kernels' loops read and write it.
//
// The functions are inlined wherever they are called, so that files which are compiled once for each instruction set may
// use them, too. Thread safety: a value; pure functions.
#ifndef ONEFLOW_KERNELS_CPU_BFLOAT16_H_
#define ONEFLOW_KERNELS_CPU_BFLOAT16_H_

#include <cstdint>

#include "oneflow/kernels/cpu/intrinsics.h"

#define ONEFLOW_BFLOAT16_INLINE inline __attribute__((always_inline))

namespace oneflow {
namespace cpu {

struct BFloat16 {
  uint16_t bits;
};

ONEFLOW_BFLOAT16_INLINE float Widen(BFloat16 x) {
  const uint32_t bits = static_cast<uint32_t>(x.bits) << 16;
  float wide;
  __builtin_memcpy(&wide, &bits, sizeof(wide));
  return wide;
}

// Rounds to nearest even; a NaN stays a (quiet) NaN.
ONEFLOW_BFLOAT16_INLINE BFloat16 Narrow(float x) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, sizeof(bits));
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const uint32_t nan = (bits >> 16) | 0x40;
  return {static_cast<uint16_t>(x != x ? nan : rounded)};
}

#if defined(__AVX512BW__) && defined(__AVX512VL__)

// The same for 16 of them.
ONEFLOW_BFLOAT16_INLINE __m512 WidenLanes(__m256i x) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16));
}
ONEFLOW_BFLOAT16_INLINE __m256i NarrowLanes(__m512 x) {
  const __m512i bits = _mm512_castps_si512(x);
  const __m512i high = _mm512_srli_epi32(bits, 16);
  const __m512i odd = _mm512_and_si512(high, _mm512_set1_epi32(1));
  const __m512i up = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
  const __m512i nan = _mm512_or_si512(high, _mm512_set1_epi32(0x40));
  const __mmask16 is_nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
  return _mm512_cvtepi32_epi16(_mm512_mask_mov_epi32(_mm512_srli_epi32(up, 16), is_nan, nan));
}

#endif

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_BFLOAT16_H_
