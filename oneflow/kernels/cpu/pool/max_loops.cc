// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/pool/max_loops.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

// ---- one row ------------------------------------------------------------------------------------

template <typename T, int kStride>
void SplitBy(const T* row, int64_t n, const RowWindows& w, T* line) {
  T* to[kStride];
  for (int r = 0; r < kStride; ++r) {
    const int64_t at = w.before + r;
    to[r] = line + at % kStride * w.pitch + at / kStride;
  }
  const int64_t whole = n / kStride;
#pragma GCC ivdep
  for (int64_t i = 0; i < whole; ++i) {
    for (int r = 0; r < kStride; ++r) { to[r][i] = row[i * kStride + r]; }
  }
  for (int64_t i = whole * kStride; i < n; ++i) { to[i % kStride][whole] = row[i]; }
}

template <typename T>
void SplitByTwo(const T* row, int64_t n, const RowWindows& w, T* line) {
  T* even = line + w.before % 2 * w.pitch + w.before / 2;
  T* odd = line + (w.before + 1) % 2 * w.pitch + (w.before + 1) / 2;
#pragma GCC ivdep
  for (int64_t i = 0; i < n / 2; ++i) {
    even[i] = row[2 * i];
    odd[i] = row[2 * i + 1];
  }
  if (n % 2 != 0) { even[n / 2] = row[n - 1]; }
}

template <typename T>
void Split(const T* row, int64_t n, const RowWindows& w, T* line) {
  switch (w.stride) {
    case 2: return SplitByTwo(row, n, w, line);
    case 3: return SplitBy<T, 3>(row, n, w, line);
    case 4: return SplitBy<T, 4>(row, n, w, line);
    default: __builtin_memcpy(line + w.before, row, static_cast<unsigned long>(n) * sizeof(T));
  }
}

// Element k of every window of a split row.
template <typename T>
const T* ElementOf(const T* line, const RowWindows& w, int64_t k) {
  const int64_t at = k * w.dilation;
  return line + at % w.stride * w.pitch + at / w.stride;
}

// The first kCount elements of each window.
template <typename T, typename I, int kCount>
void RowOf(const T* line, const RowWindows& w, T* best, I* column) {
  const T* first = ElementOf(line, w, 0);
  const T* second = ElementOf(line, w, kCount > 1 ? 1 : 0);
  const T* third = ElementOf(line, w, kCount > 2 ? 2 : 0);
  const I stride = static_cast<I>(w.stride), start = static_cast<I>(-w.before);
  const I one = static_cast<I>(w.dilation), two = static_cast<I>(2 * w.dilation);
#pragma GCC ivdep
  for (int64_t o = 0; o < w.out; ++o) {
    T value = first[o];
    const I origin = start + static_cast<I>(o) * stride;
    I at = origin;
    if (kCount > 1) {
      const T next = second[o];
      const bool takes = (next > value) | (next != next);
      value = takes ? next : value;
      at = takes ? origin + one : at;
    }
    if (kCount > 2) {
      const T next = third[o];
      const bool takes = (next > value) | (next != next);
      value = takes ? next : value;
      at = takes ? origin + two : at;
    }
    best[o] = value;
    column[o] = at;
  }
}

// Element k of each window after those before it.
template <typename T, typename I>
void RowElement(const T* from, const RowWindows& w, int64_t k, T* best, I* column) {
  const I stride = static_cast<I>(w.stride);
  const I start = static_cast<I>(k * w.dilation - w.before);
#pragma GCC ivdep
  for (int64_t o = 0; o < w.out; ++o) {
    const T next = from[o];
    const bool takes = (next > best[o]) | (next != next);
    best[o] = takes ? next : best[o];
    column[o] = takes ? start + static_cast<I>(o) * stride : column[o];
  }
}

// Of a row that is not split.
template <typename T, typename I>
void WideRow(const T* line, const RowWindows& w, T* best, I* column) {
  for (int64_t o = 0; o < w.out; ++o) {
    const T* from = line + o * w.stride;
    T value = from[0];
    int64_t at = 0;
    for (int64_t k = 1; k < w.kernel; ++k) {
      const T next = from[k * w.dilation];
      const bool takes = (next > value) | (next != next);
      value = takes ? next : value;
      at = takes ? k : at;
    }
    best[o] = value;
    column[o] = static_cast<I>(o * w.stride + at * w.dilation - w.before);
  }
}

template <typename T, typename I>
void Row(const T* line, const RowWindows& w, T* best, I* column) {
  if (!w.IsSplit()) { return WideRow(line, w, best, column); }
  switch (w.kernel) {
    case 1: return RowOf<T, I, 1>(line, w, best, column);
    case 2: return RowOf<T, I, 2>(line, w, best, column);
    default: RowOf<T, I, 3>(line, w, best, column);
  }
  for (int64_t k = 3; k < w.kernel; ++k) { RowElement(ElementOf(line, w, k), w, k, best, column); }
}

#if defined(__AVX512F__)

// Elements at, ..., at + 15 of a row of n, minus infinity for those that are outside.
inline __m512 LoadInside(const float* row, int64_t at, int64_t n) {
  if (at >= 0 && at + 16 <= n) { return _mm512_loadu_ps(row + at); }
  const int64_t first = at < 0 ? (at > -16 ? -at : 16) : 0;
  const int64_t end = n - at < 0 ? 0 : n - at > 16 ? 16 : n - at;
  const auto mask = static_cast<__mmask16>(((1u << end) - 1) & ~((1u << first) - 1));
  return _mm512_mask_loadu_ps(_mm512_set1_ps(-__builtin_inff()), mask, row + at);
}

inline void TakeLater(__m512 next, __m512i at, __m512* best, __m512i* column) {
  const __mmask16 takes =
      _mm512_cmp_ps_mask(next, *best, _CMP_GT_OQ) | _mm512_cmp_ps_mask(next, next, _CMP_UNORD_Q);
  *best = _mm512_mask_mov_ps(*best, takes, next);
  *column = _mm512_mask_mov_epi32(*column, takes, at);
}

// Neighbouring windows share no vector: even and odd elements are picked from two of them.
void Pairs(const float* row, int64_t n, const RowWindows& w, float* best, int32_t* column) {
  const __m512i places =
      _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  const __m512i odd = _mm512_add_epi32(places, _mm512_set1_epi32(1));
  for (int64_t o = 0; o < w.out; o += kMaxBlock) {
    const int64_t at = 2 * o - w.before;
    const __m512 left = LoadInside(row, at, n);
    const __m512 right = LoadInside(row, at + 16, n);
    const __m512i origin = _mm512_add_epi32(places, _mm512_set1_epi32(static_cast<int>(at)));
    __m512 value = _mm512_permutex2var_ps(left, places, right);
    __m512i place = origin;
    if (w.kernel > 1) {
      TakeLater(_mm512_permutex2var_ps(left, odd, right),
                _mm512_add_epi32(origin, _mm512_set1_epi32(1)), &value, &place);
    }
    if (w.kernel > 2) {
      const __m512 next =
          _mm512_permutex2var_ps(LoadInside(row, at + 2, n), places, LoadInside(row, at + 18, n));
      TakeLater(next, _mm512_add_epi32(origin, _mm512_set1_epi32(2)), &value, &place);
    }
    _mm512_storeu_ps(best + o, value);
    _mm512_storeu_si512(column + o, place);
  }
}
constexpr auto kPairs = &Pairs;

#else
constexpr decltype(MaxLoopsOf<float, int32_t>::pairs) kPairs = nullptr;
#endif

// ---- several rows -------------------------------------------------------------------------------

template <typename T, typename I, typename W, int kCount>
void RowsOf(const RowMaxima<T, I>* rows, int64_t n, T* out, W* where) {
  const RowMaxima<T, I> a = rows[0], b = rows[kCount > 1 ? 1 : 0], c = rows[kCount > 2 ? 2 : 0];
#pragma GCC ivdep
  for (int64_t o = 0; o < n; ++o) {
    T value = a.best[o];
    I at = a.base + a.column[o];
    if (kCount > 1) {
      const T next = b.best[o];
      const bool takes = (next > value) | (next != next);
      value = takes ? next : value;
      at = takes ? b.base + b.column[o] : at;
    }
    if (kCount > 2) {
      const T next = c.best[o];
      const bool takes = (next > value) | (next != next);
      value = takes ? next : value;
      at = takes ? c.base + c.column[o] : at;
    }
    out[o] = value;
    where[o] = static_cast<W>(at);
  }
}

template <typename T, typename I, typename W>
void Rows(const RowMaxima<T, I>* rows, int count, int64_t n, T* out, W* where) {
  switch (count) {
    case 1: return RowsOf<T, I, W, 1>(rows, n, out, where);
    case 2: return RowsOf<T, I, W, 2>(rows, n, out, where);
    default: return RowsOf<T, I, W, 3>(rows, n, out, where);
  }
}

// ---- rows first ---------------------------------------------------------------------------------

template <typename T, typename I>
void Start(const T* row, I base, T* best, I* index, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    best[i] = row[i];
    index[i] = base + static_cast<I>(i);
  }
}

template <typename T, typename I>
void Merge(const T* row, I base, T* best, I* index, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const T value = row[i];
    const bool takes = (value > best[i]) | (value != value);
    best[i] = takes ? value : best[i];
    index[i] = takes ? base + static_cast<I>(i) : index[i];
  }
}

template <typename T, typename I>
constexpr MaxLoopsOf<T, I> LoopsOf(decltype(MaxLoopsOf<T, I>::pairs) pairs) {
  return {&Split<T>,      &Row<T, I>,   pairs,       &Rows<T, I, int64_t>,
          &Rows<T, I, I>, &Start<T, I>, &Merge<T, I>};
}

constexpr MaxLoops kLoops = {LoopsOf<float, int32_t>(kPairs), LoopsOf<double, int64_t>(nullptr)};

}  // namespace

const MaxLoops& GetMaxLoops() { return kLoops; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
