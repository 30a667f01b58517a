// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/conv/turn_loops.h"

#include "oneflow/kernels/cpu/intrinsics.h"

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

#define ONEFLOW_INLINE inline __attribute__((always_inline))

constexpr int64_t kChannels = kTurnChannels;

#if defined(__AVX512BW__)

constexpr int64_t kPixels = 32;  // of a tile: a register holds that many of one channel

// Transposes 8 x 8 elements in each 128-bit lane of eight registers: element j of register i becomes element i of
// register j.
ONEFLOW_INLINE void TransposeLanes(__m512i* r) {
  __m512i a[8], b[8];
  for (int i = 0; i < 8; i += 2) {
    a[i] = _mm512_unpacklo_epi16(r[i], r[i + 1]);
    a[i + 1] = _mm512_unpackhi_epi16(r[i], r[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    b[i] = _mm512_unpacklo_epi32(a[i], a[i + 2]);
    b[i + 1] = _mm512_unpackhi_epi32(a[i], a[i + 2]);
    b[i + 2] = _mm512_unpacklo_epi32(a[i + 1], a[i + 3]);
    b[i + 3] = _mm512_unpackhi_epi32(a[i + 1], a[i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    r[2 * i] = _mm512_unpacklo_epi64(b[i], b[i + 4]);
    r[2 * i + 1] = _mm512_unpackhi_epi64(b[i], b[i + 4]);
  }
}

// Transposes 4 x 4 lanes of 128 bits.
ONEFLOW_INLINE void TransposeQuarters(__m512i* r) {
  const __m512i a = _mm512_shuffle_i64x2(r[0], r[1], 0x44);  // lanes 0 and 1 of each
  const __m512i b = _mm512_shuffle_i64x2(r[0], r[1], 0xee);  // lanes 2 and 3
  const __m512i c = _mm512_shuffle_i64x2(r[2], r[3], 0x44);
  const __m512i d = _mm512_shuffle_i64x2(r[2], r[3], 0xee);
  r[0] = _mm512_shuffle_i64x2(a, c, 0x88);
  r[1] = _mm512_shuffle_i64x2(a, c, 0xdd);
  r[2] = _mm512_shuffle_i64x2(b, d, 0x88);
  r[3] = _mm512_shuffle_i64x2(b, d, 0xdd);
}

// Two pixels, of 16 channels each.
ONEFLOW_INLINE void StorePair(uint16_t* to, int64_t step, __m512i pair) {
  if (step == kChannels) { return _mm512_storeu_si512(to, pair); }
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_castsi512_si256(pair));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + step), _mm512_extracti64x4_epi64(pair, 1));
}
ONEFLOW_INLINE __m512i LoadPair(const uint16_t* from, int64_t step) {
  if (step == kChannels) { return _mm512_loadu_si512(from); }
  const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + step));
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

// A tile: 16 channels of 32 pixels, of which `mask` says which are there. Lane l of low[j] holds channels 0 to 7 of pixel
// 8 l + j, that of high[j] channels 8 to 15.
ONEFLOW_INLINE void TileToPixels(const uint16_t* planes, int64_t plane, __mmask32 mask,
                                 uint16_t* pixels, int64_t step) {
  __m512i low[8], high[8];
  for (int c = 0; c < 8; ++c) {
    low[c] = _mm512_maskz_loadu_epi16(mask, planes + c * plane);
    high[c] = _mm512_maskz_loadu_epi16(mask, planes + (c + 8) * plane);
  }
  TransposeLanes(low);
  TransposeLanes(high);
  for (int j = 0; j < 8; j += 2) {
    __m512i pairs[4] = {low[j], high[j], low[j + 1], high[j + 1]};
    TransposeQuarters(pairs);
    for (int l = 0; l < 4; ++l) { StorePair(pixels + (8 * l + j) * step, step, pairs[l]); }
  }
}

ONEFLOW_INLINE void TileToPlanes(const uint16_t* pixels, int64_t step, uint16_t* planes,
                                 int64_t plane, __mmask32 mask) {
  __m512i low[8], high[8];
  for (int j = 0; j < 8; j += 2) {
    __m512i pairs[4];
    for (int l = 0; l < 4; ++l) { pairs[l] = LoadPair(pixels + (8 * l + j) * step, step); }
    TransposeQuarters(pairs);
    low[j] = pairs[0];
    high[j] = pairs[1];
    low[j + 1] = pairs[2];
    high[j + 1] = pairs[3];
  }
  TransposeLanes(low);
  TransposeLanes(high);
  for (int c = 0; c < 8; ++c) {
    _mm512_mask_storeu_epi16(planes + c * plane, mask, low[c]);
    _mm512_mask_storeu_epi16(planes + (c + 8) * plane, mask, high[c]);
  }
}

void ToPixels(const uint16_t* planes, int64_t plane, uint16_t* pixels, int64_t step,
              int64_t count) {
  int64_t p = 0;
  for (; p + kPixels <= count; p += kPixels) {
    TileToPixels(planes + p, plane, ~__mmask32{0}, pixels + p * step, step);
  }
  if (p == count) { return; }
  alignas(64) uint16_t rest[kPixels * kChannels];
  TileToPixels(planes + p, plane, (__mmask32{1} << (count - p)) - 1, rest, kChannels);
  for (int64_t i = 0; p < count; ++p, ++i) {
    __builtin_memcpy(pixels + p * step, rest + i * kChannels, kChannels * sizeof(uint16_t));
  }
}

void ToPlanes(const uint16_t* pixels, int64_t step, uint16_t* planes, int64_t plane,
              int64_t count) {
  int64_t p = 0;
  for (; p + kPixels <= count; p += kPixels) {
    TileToPlanes(pixels + p * step, step, planes + p, plane, ~__mmask32{0});
  }
  if (p == count) { return; }
  alignas(64) uint16_t rest[kPixels * kChannels] = {};
  for (int64_t i = 0; p + i < count; ++i) {
    __builtin_memcpy(rest + i * kChannels, pixels + (p + i) * step, kChannels * sizeof(uint16_t));
  }
  TileToPlanes(rest, kChannels, planes + p, plane, (__mmask32{1} << (count - p)) - 1);
}

#else

void ToPixels(const uint16_t* planes, int64_t plane, uint16_t* pixels, int64_t step,
              int64_t count) {
  for (int64_t p = 0; p < count; ++p) {
    for (int64_t c = 0; c < kChannels; ++c) { pixels[p * step + c] = planes[c * plane + p]; }
  }
}

void ToPlanes(const uint16_t* pixels, int64_t step, uint16_t* planes, int64_t plane,
              int64_t count) {
  for (int64_t c = 0; c < kChannels; ++c) {
    for (int64_t p = 0; p < count; ++p) { planes[c * plane + p] = pixels[p * step + c]; }
  }
}

#endif

constexpr TurnLoops kLoops = {&ToPixels, &ToPlanes};

}  // namespace

const TurnLoops& GetTurnLoops() { return kLoops; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
