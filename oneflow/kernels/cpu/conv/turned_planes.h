// Images of 16-bit elements with their channels side by side: in blocks of 16, or all of them (channels last).
//
// Thread safety: pure functions. Blocking: waits for its own threads only.
#ifndef ONEFLOW_KERNELS_CPU_CONV_TURNED_PLANES_H_
#define ONEFLOW_KERNELS_CPU_CONV_TURNED_PLANES_H_

#include <cstdint>

namespace oneflow {
namespace cpu {

struct TurnedPlanes {
  int64_t images = 0;
  int64_t channels = 0;  // REQUIRES a multiple of 16
  int64_t pixels = 0;    // of a plane
  bool blocked = false;  // or channels last
};

void PlanesToPixels(const TurnedPlanes& shape, const void* planes, void* pixels, int threads);
void PixelsToPlanes(const TurnedPlanes& shape, const void* pixels, void* planes, int threads);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_CONV_TURNED_PLANES_H_
