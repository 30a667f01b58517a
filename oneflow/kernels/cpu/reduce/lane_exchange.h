// Lanes of a vector exchanged in pairs, so that a vector can be folded without going through memory.
//
// Included only by files that of_isa_kernels() compiles: everything is in an unnamed namespace.
#ifndef ONEFLOW_KERNELS_CPU_REDUCE_LANE_EXCHANGE_H_
#define ONEFLOW_KERNELS_CPU_REDUCE_LANE_EXCHANGE_H_

#include "oneflow/kernels/cpu/vector_width.h"

namespace oneflow {
namespace cpu {
namespace {

// v with lanes l and l ^ kDistance exchanged; at most 16 lanes.
template <int kDistance, typename Vec>
inline __attribute__((always_inline)) Vec Exchanged(const Vec& v) {
  using Mask = decltype(v < v);
  constexpr int kCount = static_cast<int>(sizeof(Vec) / sizeof(v[0]));
  constexpr int d = kDistance;
  if constexpr (kCount == 2) {
    return __builtin_shuffle(v, Mask{0 ^ d, 1 ^ d});
  } else if constexpr (kCount == 4) {
    return __builtin_shuffle(v, Mask{0 ^ d, 1 ^ d, 2 ^ d, 3 ^ d});
  } else if constexpr (kCount == 8) {
    return __builtin_shuffle(v, Mask{0 ^ d, 1 ^ d, 2 ^ d, 3 ^ d, 4 ^ d, 5 ^ d, 6 ^ d, 7 ^ d});
  } else {
    static_assert(kCount == 16, "at most 16 lanes");
    return __builtin_shuffle(v, Mask{0 ^ d, 1 ^ d, 2 ^ d, 3 ^ d, 4 ^ d, 5 ^ d, 6 ^ d, 7 ^ d, 8 ^ d,
                                     9 ^ d, 10 ^ d, 11 ^ d, 12 ^ d, 13 ^ d, 14 ^ d, 15 ^ d});
  }
}

// Calls step(distance) for kDistance, kDistance / 2, ..., 1; the distance is a type's `value`.
template <int kDistance>
struct Distance {
  static constexpr int value = kDistance;
};
template <int kDistance, typename Step>
inline __attribute__((always_inline)) void ForDistances(const Step& step) {
  if constexpr (kDistance > 0) {
    step(Distance<kDistance>());
    ForDistances<kDistance / 2>(step);
  }
}

// All lanes of v joined by join(Vec* into, const Vec& from), halves first.
template <typename Vec, typename Join>
inline __attribute__((always_inline)) auto FoldedVector(Vec v, const Join& join) {
  constexpr int kCount = static_cast<int>(sizeof(Vec) / sizeof(v[0]));
  ForDistances<kCount / 2>([&](auto distance) {
    const Vec other = Exchanged<decltype(distance)::value>(v);
    join(&v, other);
  });
  return v[0];
}

}  // namespace
}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_REDUCE_LANE_EXCHANGE_H_
