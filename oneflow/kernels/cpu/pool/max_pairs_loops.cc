// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/pool/max_pairs_loops.h"

#include <utility>

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

// kCount results at once.
template <int kCount>
struct Lanes {
  typedef float Floats __attribute__((vector_size(kCount * 4)));
  typedef float Line __attribute__((vector_size(kCount * 8)));
  typedef int32_t Ints __attribute__((vector_size(kCount * 4)));
  typedef int64_t Longs __attribute__((vector_size(kCount * 8)));
};

template <int kCount, int... kLane>
inline void Split(const float* line, typename Lanes<kCount>::Floats* even,
                  typename Lanes<kCount>::Floats* odd, std::integer_sequence<int, kLane...>) {
  typename Lanes<kCount>::Line all;
  __builtin_memcpy(&all, line, sizeof(all));
  *even = __builtin_shufflevector(all, all, (2 * kLane)...);
  *odd = __builtin_shufflevector(all, all, (2 * kLane + 1)...);
}

// `base`: the place of the first pixel of `upper` in its plane.
template <int kCount>
inline void Windows(const float* upper, int64_t width, int32_t base, float* out, int64_t* where) {
  using Floats = typename Lanes<kCount>::Floats;
  using Ints = typename Lanes<kCount>::Ints;
  constexpr auto kLanes = std::make_integer_sequence<int, kCount>();
  Floats a, b, c, d;
  Split<kCount>(upper, &a, &b, kLanes);
  Split<kCount>(upper + width, &c, &d, kLanes);
  // Lanes of -1 where the later one is chosen: it is greater, or NaN.
  const Ints right_above = (b > a) | (b != b);
  const Ints right_below = (d > c) | (d != d);
  const Floats above = right_above ? b : a;
  const Floats below = right_below ? d : c;
  const Ints takes_below = (below > above) | (below != below);
  const Floats best = takes_below ? below : above;
  Ints first;
  for (int i = 0; i < kCount; ++i) { first[i] = base + 2 * i; }
  const Ints right = takes_below ? right_below : right_above;  // -1 for the right column
  const Ints index = first - right - takes_below * static_cast<int32_t>(width);
  const auto wide = __builtin_convertvector(index, typename Lanes<kCount>::Longs);
  __builtin_memcpy(out, &best, sizeof(best));
  __builtin_memcpy(where, &wide, sizeof(wide));
}

// Lines of at least kCount results; the last vector of a line may overlap the one before it.
template <int kCount>
void Plane(const float* image, int64_t width, int64_t out_height, int64_t out_width, float* out,
           int64_t* where) {
  for (int64_t y = 0; y < out_height; ++y) {
    const int64_t row = 2 * y * width;
    for (int64_t x = 0; x < out_width; x += kCount) {
      const int64_t at = x + kCount <= out_width ? x : out_width - kCount;
      Windows<kCount>(image + row + 2 * at, width, static_cast<int32_t>(row + 2 * at),
                      out + y * out_width + at, where + y * out_width + at);
    }
  }
}

void AnyPlane(const float* image, int64_t width, int64_t out_height, int64_t out_width, float* out,
              int64_t* where) {
  if (out_width >= 8) { return Plane<8>(image, width, out_height, out_width, out, where); }
  if (out_width >= 4) { return Plane<4>(image, width, out_height, out_width, out, where); }
  Plane<1>(image, width, out_height, out_width, out, where);
}

constexpr MaxPairsLoops kLoops = {&AnyPlane};

}  // namespace

const MaxPairsLoops& GetMaxPairsLoops() { return kLoops; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
