// Arithmetic on sizes that a program may give as it likes: computed in 128 bits, kept in 64. A result
// that is out of reach stays there, where checks of limits find it, and nothing overflows.
//
// Thread safety: pure functions.
#ifndef ONEFLOW_CORE_SATURATED_H_
#define ONEFLOW_CORE_SATURATED_H_

#include <cstdint>

namespace oneflow {

using Wide = __int128;

// No tensor has as many elements.
inline constexpr int64_t kMostSize = int64_t{1} << 62;

// The nearest number in [-kMostSize, kMostSize].
constexpr int64_t Saturated(Wide value) {
  if (value > kMostSize) { return kMostSize; }
  return value < -kMostSize ? -kMostSize : static_cast<int64_t>(value);
}

constexpr int64_t SaturatedProduct(int64_t a, int64_t b) { return Saturated(Wide{a} * b); }

// From the first to the last element of a window, both included. REQUIRES kernel >= 1, dilation >= 1.
constexpr int64_t WindowReach(int64_t kernel, int64_t dilation) {
  return Saturated(Wide{dilation} * (kernel - 1) + 1);
}

}  // namespace oneflow

#endif  // ONEFLOW_CORE_SATURATED_H_
