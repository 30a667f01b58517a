// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/sort/select_loops.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "oneflow/kernels/cpu/vector_width.h"

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

typedef float Vector __attribute__((vector_size(kVectorBytes)));
constexpr int kWidth = kVectorLanes<float>;
constexpr int kParts = kSelectLanes / kWidth;
constexpr float kInfinity = __builtin_inff();

// x, or its negative: the first are then the greatest. A NaN becomes the infinity beside which it
// belongs.
template <bool kGreatest>
inline Vector Load(const float* x) {
  Vector v;
  __builtin_memcpy(&v, x, sizeof(v));
  v = v == v ? v : Vector{} + kInfinity;  // NOLINT(misc-redundant-expression)
  return kGreatest ? v : -v;
}

inline Vector Larger(Vector a, Vector b) { return a > b ? a : b; }

template <bool kGreatest>
float Bound(const float* x, int64_t n, int64_t k) {
  Vector best[kParts];
  for (int p = 0; p < kParts; ++p) { best[p] = Load<kGreatest>(x + p * kWidth); }
  int64_t i = kSelectLanes;
  for (; i + kSelectLanes <= n; i += kSelectLanes) {
    for (int p = 0; p < kParts; ++p) {
      best[p] = Larger(best[p], Load<kGreatest>(x + i + p * kWidth));
    }
  }
  // The greatest of them k times over, each time without the ones before.
  float bound = kInfinity;
  for (int64_t round = 0; round < k; ++round) {
    Vector top = best[0];
    for (int p = 1; p < kParts; ++p) { top = Larger(top, best[p]); }
    float lanes[kWidth];
    __builtin_memcpy(lanes, &top, sizeof(lanes));
    for (int half = kWidth / 2; half > 0; half /= 2) {
      for (int l = 0; l < half; ++l) {
        lanes[l] = lanes[l] > lanes[l + half] ? lanes[l] : lanes[l + half];
      }
    }
    bound = lanes[0];
    for (int p = 0; p < kParts; ++p) {
      best[p] = best[p] == bound ? Vector{} - kInfinity : best[p];
    }
  }
  return kGreatest ? bound : -bound;
}

float BoundOf(const float* x, int64_t n, int64_t k, bool greatest) {
  return greatest ? Bound<true>(x, n, k) : Bound<false>(x, n, k);
}

inline bool Keeps(float x, float bound, bool greatest) {
  return greatest ? !(x < bound) : !(x > bound);
}

// Bit i: x[i] does not go behind the bound; 64 numbers.
#if defined(__AVX512F__)
template <bool kGreatest>
inline uint64_t KeepMask(const float* x, float bound) {
  constexpr int kTest = kGreatest ? _CMP_NLT_UQ : _CMP_NGT_UQ;
  const __m512 b = _mm512_set1_ps(bound);
  uint64_t mask = 0;
  for (int p = 0; p < 4; ++p) {
    const __mmask16 part = _mm512_cmp_ps_mask(_mm512_loadu_ps(x + 16 * p), b, kTest);
    mask |= static_cast<uint64_t>(part) << (16 * p);
  }
  return mask;
}
#elif defined(__AVX2__)
template <bool kGreatest>
inline uint64_t KeepMask(const float* x, float bound) {
  constexpr int kTest = kGreatest ? _CMP_NLT_UQ : _CMP_NGT_UQ;
  const __m256 b = _mm256_set1_ps(bound);
  uint64_t mask = 0;
  for (int p = 0; p < 8; ++p) {
    const int part = _mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(x + 8 * p), b, kTest));
    mask |= static_cast<uint64_t>(static_cast<unsigned>(part)) << (8 * p);
  }
  return mask;
}
#else
template <bool kGreatest>
inline uint64_t KeepMask(const float* x, float bound) {
  uint64_t mask = 0;
  for (int i = 0; i < 64; ++i) {
    mask |= static_cast<uint64_t>(Keeps(x[i], bound, kGreatest)) << i;
  }
  return mask;
}
#endif

template <bool kGreatest>
int64_t Collect(const float* x, int64_t n, float bound, int64_t* indices, int64_t room) {
  int64_t count = 0;
  int64_t i = 0;
  for (; i + 64 <= n; i += 64) {
    for (uint64_t mask = KeepMask<kGreatest>(x + i, bound); mask != 0; mask &= mask - 1) {
      if (count == room) { return room + 1; }
      indices[count++] = i + __builtin_ctzll(mask);
    }
  }
  for (; i < n; ++i) {
    if (!Keeps(x[i], bound, kGreatest)) { continue; }
    if (count == room) { return room + 1; }
    indices[count++] = i;
  }
  return count;
}

int64_t CollectOf(const float* x, int64_t n, float bound, bool greatest, int64_t* indices,
                  int64_t room) {
  return greatest ? Collect<true>(x, n, bound, indices, room)
                  : Collect<false>(x, n, bound, indices, room);
}

constexpr SelectLoops kLoops = {&BoundOf, &CollectOf};

}  // namespace

const SelectLoops& GetSelectLoops() { return kLoops; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
