#include "oneflow/kernels/cpu/conv/dot_loops.h"

#include "oneflow/kernels/cpu/intrinsics.h"
#include "oneflow/kernels/cpu/isa.h"

#if defined(__x86_64__)
// Only what stands below; it is called where the machine has the instructions.
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,prefer-vector-width=512")
#define ONEFLOW_INLINE inline __attribute__((always_inline))

namespace oneflow {
namespace cpu {

namespace {

constexpr int kVectors = static_cast<int>(kDotColumns) / 16;
constexpr int kRows = static_cast<int>(kDotRows);

ONEFLOW_INLINE __mmask16 MaskOf(int64_t count) {
  return static_cast<__mmask16>(count >= 16 ? 0xffff : count <= 0 ? 0 : (1 << count) - 1);
}

// Eight rows of eight 32-bit elements.
ONEFLOW_INLINE void Transpose8(__m256i* r) {
  __m256i a[8], b[8];
  for (int i = 0; i < 8; i += 2) {
    a[i] = _mm256_unpacklo_epi32(r[i], r[i + 1]);
    a[i + 1] = _mm256_unpackhi_epi32(r[i], r[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    b[i] = _mm256_unpacklo_epi64(a[i], a[i + 2]);
    b[i + 1] = _mm256_unpackhi_epi64(a[i], a[i + 2]);
    b[i + 2] = _mm256_unpacklo_epi64(a[i + 1], a[i + 3]);
    b[i + 3] = _mm256_unpackhi_epi64(a[i + 1], a[i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    r[i] = _mm256_permute2x128_si256(b[i], b[i + 4], 0x20);
    r[i + 4] = _mm256_permute2x128_si256(b[i], b[i + 4], 0x31);
  }
}

// Sixteen rows of sixteen.
ONEFLOW_INLINE void Transpose16(__m512i* r) {
  __m512i a[16], b[16];
  for (int i = 0; i < 16; i += 2) {
    a[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
    a[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
  }
  // b[i + j] holds, in lane l, element 4 l + j of rows i to i + 3.
  for (int i = 0; i < 16; i += 4) {
    b[i] = _mm512_unpacklo_epi64(a[i], a[i + 2]);
    b[i + 1] = _mm512_unpackhi_epi64(a[i], a[i + 2]);
    b[i + 2] = _mm512_unpacklo_epi64(a[i + 1], a[i + 3]);
    b[i + 3] = _mm512_unpackhi_epi64(a[i + 1], a[i + 3]);
  }
  for (int j = 0; j < 4; ++j) {
    const __m512i low = _mm512_shuffle_i64x2(b[j], b[4 + j], 0x44);
    const __m512i high = _mm512_shuffle_i64x2(b[j], b[4 + j], 0xee);
    const __m512i low2 = _mm512_shuffle_i64x2(b[8 + j], b[12 + j], 0x44);
    const __m512i high2 = _mm512_shuffle_i64x2(b[8 + j], b[12 + j], 0xee);
    r[j] = _mm512_shuffle_i64x2(low, low2, 0x88);
    r[4 + j] = _mm512_shuffle_i64x2(low, low2, 0xdd);
    r[8 + j] = _mm512_shuffle_i64x2(high, high2, 0x88);
    r[12 + j] = _mm512_shuffle_i64x2(high, high2, 0xdd);
  }
}

// Rows whose depth is dense, eight pairs at a time.
void PackDenseRows(const uint16_t* from, int64_t row, int64_t rows, int64_t depth, uint32_t* to) {
  constexpr __mmask8 kThere = (1 << kDotRows) - 1;
  for (int64_t k = 0; k < depth; k += 16) {
    __m256i r[8];
    for (int64_t i = 0; i < 8; ++i) {
      const __mmask16 mask = i < rows ? MaskOf(depth - k) : static_cast<__mmask16>(0);
      r[i] = _mm256_maskz_loadu_epi16(mask, from + (i < rows ? i : 0) * row + k);
    }
    Transpose8(r);
    for (int64_t i = 0; i < 8 && k + 2 * i < depth; ++i) {
      _mm256_mask_storeu_epi32(to + (k / 2 + i) * kDotRows, kThere, r[i]);
    }
  }
}

// Rows that are neighbours.
void PackNeighbourRows(const uint16_t* from, int64_t step, int64_t rows, int64_t depth,
                       uint32_t* to) {
  const auto there = static_cast<__mmask8>((1 << rows) - 1);
  for (int64_t k = 0; k < depth; k += 2) {
    const __mmask8 second = k + 1 < depth ? there : static_cast<__mmask8>(0);
    const __m128i a = _mm_maskz_loadu_epi16(there, from + k * step);
    const __m128i b = _mm_maskz_loadu_epi16(second, from + (k + 1) * step);
    const __m256i pairs =
        _mm256_or_si256(_mm256_cvtepu16_epi32(a), _mm256_slli_epi32(_mm256_cvtepu16_epi32(b), 16));
    _mm256_mask_storeu_epi32(to + k / 2 * kDotRows, (1 << kDotRows) - 1, pairs);
  }
}

// Neighbouring columns: pairs of two rows, 16 at a time.
ONEFLOW_INLINE __m512i PairLanes(__m256i first, __m256i second) {
  return _mm512_or_si512(_mm512_cvtepu16_epi32(first),
                         _mm512_slli_epi32(_mm512_cvtepu16_epi32(second), 16));
}

}  // namespace

void PackDotRows(const uint16_t* from, int64_t row, int64_t step, int64_t rows, int64_t depth,
                 uint32_t* to) {
  if (step == 1) { return PackDenseRows(from, row, rows, depth, to); }
  PackNeighbourRows(from, step, rows, depth, to);
}

void PackDotColumns(const uint16_t* from, int64_t row, int64_t depth, int64_t columns,
                    int64_t first, int64_t panel, uint32_t* to) {
  // As many neighbours as the processor asks for by itself, and not more panels than it can write side by side.
  constexpr int64_t kPiece = 8 * kDotColumns;
  static constexpr uint16_t kZeros[kPiece] = {};
  for (int64_t begin = 0; begin < columns; begin += kPiece) {
    const int64_t count = columns - begin < kPiece ? columns - begin : kPiece;
    const int64_t place = first + begin;
    const int64_t lead = (16 - place % 16) % 16 < count ? (16 - place % 16) % 16 : count;
    for (int64_t k = 0; k < depth; k += 2) {
      const uint16_t* one = from + k * row + begin;
      const uint16_t* two = k + 1 < depth ? one + row : kZeros;
      const auto at = [&](int64_t j) __attribute__((always_inline)) {
        const int64_t c = place + j;
        return to + c / kDotColumns * panel + k / 2 * kDotColumns + c % kDotColumns;
      };
      const auto part = [&](int64_t j, int64_t n) __attribute__((always_inline)) {
        const __mmask16 mask = MaskOf(n);
        _mm512_mask_storeu_epi32(at(j), mask,
                                 PairLanes(_mm256_maskz_loadu_epi16(mask, one + j),
                                           _mm256_maskz_loadu_epi16(mask, two + j)));
      };
      if (lead > 0) { part(0, lead); }
      int64_t j = lead;
      for (; j + 16 <= count; j += 16) {
        _mm512_storeu_si512(
            at(j), PairLanes(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(one + j)),
                             _mm256_loadu_si256(reinterpret_cast<const __m256i*>(two + j))));
      }
      if (j < count) { part(j, count - j); }
    }
  }
}

void PackDotColumnsOfRows(const uint16_t* from, int64_t column, int64_t depth, int64_t columns,
                          uint32_t* to) {
  for (int64_t first = 0; first < kDotColumns; first += 16) {
    for (int64_t k = 0; k < depth; k += 32) {
      const int64_t left = depth - k;
      const __mmask32 mask = left >= 32 ? ~__mmask32{0} : (__mmask32{1} << left) - 1;
      __m512i r[16];
      for (int64_t i = 0; i < 16; ++i) {
        const bool there = first + i < columns;
        r[i] =
            _mm512_maskz_loadu_epi16(there ? mask : 0, from + (there ? first + i : 0) * column + k);
      }
      Transpose16(r);
      for (int64_t i = 0; i < 16 && k + 2 * i < depth; ++i) {
        _mm512_storeu_si512(to + (k / 2 + i) * kDotColumns + first, r[i]);
      }
    }
  }
}

namespace {

ONEFLOW_INLINE void AddProducts(const uint32_t* a, const uint32_t* b, int64_t pairs,
                                __m512 (*sums)[kVectors]) {
  for (int64_t k = 0; k < pairs; ++k) {
    __m512bh columns[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      columns[v] = (__m512bh)_mm512_loadu_si512(b + k * kDotColumns + v * 16);
    }
    for (int r = 0; r < kRows; ++r) {
      const auto row = (__m512bh)_mm512_set1_epi32(static_cast<int>(a[k * kDotRows + r]));
      for (int v = 0; v < kVectors; ++v) {
        sums[r][v] = _mm512_dpbf16_ps(sums[r][v], row, columns[v]);
      }
    }
  }
}

// 32 numbers.
ONEFLOW_INLINE __m512i Round(__m512 low, __m512 high) {
  return (__m512i)_mm512_cvtne2ps_pbh(high, low);
}

}  // namespace

void DotTile(const uint32_t* a, const uint32_t* b, int64_t pairs, int64_t rows, uint16_t* to,
             int64_t stride, bool past) {
  __m512 sums[kRows][kVectors];
  for (auto& row : sums) {
    for (__m512& sum : row) { sum = _mm512_setzero_ps(); }
  }
  AddProducts(a, b, pairs, sums);
  for (int r = 0; r < kRows; ++r) {
    if (r >= rows) { return; }
    for (int v = 0; v < kVectors; v += 2) {
      const __m512i line = Round(sums[r][v], sums[r][v + 1]);
      uint16_t* at = to + r * stride + v * 16;
      if (past) {
        _mm512_stream_si512(reinterpret_cast<__m512i*>(at), line);
      } else {
        _mm512_storeu_si512(at, line);
      }
    }
  }
}

void FenceDots() { _mm_sfence(); }

void AddDotTile(const uint32_t* a, const uint32_t* b, int64_t pairs, float* to) {
  __m512 sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      sums[r][v] = _mm512_loadu_ps(to + r * kDotColumns + v * 16);
    }
  }
  AddProducts(a, b, pairs, sums);
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      _mm512_storeu_ps(to + r * kDotColumns + v * 16, sums[r][v]);
    }
  }
}

void RoundDots(const float* sums, int64_t count, uint16_t* to) {
  for (int64_t j = 0; j < count; j += 16) {
    const __m512 x = _mm512_maskz_loadu_ps(MaskOf(count - j), sums + j);
    _mm256_mask_storeu_epi16(to + j, MaskOf(count - j), (__m256i)_mm512_cvtneps_pbh(x));
  }
}

}  // namespace cpu
}  // namespace oneflow

#pragma GCC pop_options

namespace oneflow {
namespace cpu {

// Runs on every machine, so it stands outside.
bool HasDotLoops() {
  static const bool has = __builtin_cpu_supports("avx512bf16") != 0;
  return has && CurrentIsa() == Isa::kAvx512;
}

}  // namespace cpu
}  // namespace oneflow

#else

namespace oneflow {
namespace cpu {

bool HasDotLoops() { return false; }
void PackDotRows(const uint16_t*, int64_t, int64_t, int64_t, int64_t, uint32_t*) {}
void PackDotColumns(const uint16_t*, int64_t, int64_t, int64_t, int64_t, int64_t, uint32_t*) {}
void PackDotColumnsOfRows(const uint16_t*, int64_t, int64_t, int64_t, uint32_t*) {}
void DotTile(const uint32_t*, const uint32_t*, int64_t, int64_t, uint16_t*, int64_t, bool) {}
void FenceDots() {}
void AddDotTile(const uint32_t*, const uint32_t*, int64_t, float*) {}
void RoundDots(const float*, int64_t, uint16_t*) {}

}  // namespace cpu
}  // namespace oneflow

#endif
