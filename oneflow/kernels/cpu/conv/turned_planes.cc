#include "oneflow/kernels/cpu/conv/turned_planes.h"

#include <algorithm>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/cpu/conv/turn_loops.h"

namespace oneflow {
namespace cpu {

namespace {

// Pixels that are turned before the next 16 channels are: a stretch of planes, or rows of pixels that stay in a cache
// until all their channels are there.
constexpr int64_t kBlockedTile = 1024;
constexpr int64_t kLastTile = 128;

// Calls body(first element in planes, first one in pixels, pixels) for each piece of 16 channels.
template <typename Body>
void ForEachPiece(const TurnedPlanes& s, int threads, const Body& body) {
  const int64_t tile = s.blocked ? kBlockedTile : kLastTile;
  const int64_t tiles = (s.pixels + tile - 1) / tile;
  const int64_t blocks = s.channels / kTurnChannels;
  // A task: one tile of 16 channels, or of all.
  const int64_t apart = s.blocked ? blocks : 1;
  const int64_t together = s.blocked ? 1 : blocks;
  ParallelFor(threads, s.images * apart * tiles, 1, [&](int64_t task, int64_t) {
    const int64_t pixel = task % tiles * tile;
    const int64_t image = task / tiles / apart;
    const int64_t count = std::min(tile, s.pixels - pixel);
    for (int64_t b = 0; b < together; ++b) {
      const int64_t channel = (task / tiles % apart + b) * kTurnChannels;
      const int64_t in_planes = (image * s.channels + channel) * s.pixels + pixel;
      const int64_t in_pixels =
          s.blocked ? (image * s.channels + channel) * s.pixels + pixel * kTurnChannels
                    : (image * s.pixels + pixel) * s.channels + channel;
      body(in_planes, in_pixels, count);
    }
  });
}

int64_t StepOf(const TurnedPlanes& s) { return s.blocked ? kTurnChannels : s.channels; }

}  // namespace

void PlanesToPixels(const TurnedPlanes& shape, const void* planes, void* pixels, int threads) {
  const auto* from = static_cast<const uint16_t*>(planes);
  auto* to = static_cast<uint16_t*>(pixels);
  ForEachPiece(shape, threads, [&](int64_t in_planes, int64_t in_pixels, int64_t count) {
    GetTurnLoops().to_pixels(from + in_planes, shape.pixels, to + in_pixels, StepOf(shape), count);
  });
}

void PixelsToPlanes(const TurnedPlanes& shape, const void* pixels, void* planes, int threads) {
  const auto* from = static_cast<const uint16_t*>(pixels);
  auto* to = static_cast<uint16_t*>(planes);
  ForEachPiece(shape, threads, [&](int64_t in_planes, int64_t in_pixels, int64_t count) {
    GetTurnLoops().to_planes(from + in_pixels, StepOf(shape), to + in_planes, shape.pixels, count);
  });
}

}  // namespace cpu
}  // namespace oneflow
