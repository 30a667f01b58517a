// Elements of 16 bits from planes, where the pixels of a channel are neighbours, to pixels, where its channels are, and
// back: what convolutions in bfloat16 lay out anew. One table for each instruction set.
//
// Thread safety: constants.
#ifndef ONEFLOW_KERNELS_CPU_CONV_TURN_LOOPS_H_
#define ONEFLOW_KERNELS_CPU_CONV_TURN_LOOPS_H_

#include <cstdint>

#include "oneflow/kernels/cpu/isa.h"

namespace oneflow {
namespace cpu {

inline constexpr int64_t kTurnChannels = 16;

struct TurnLoops {
  // pixels[p * step + c] = planes[c * plane + p] for 16 channels c and `count` pixels p.
  void (*to_pixels)(const uint16_t* planes, int64_t plane, uint16_t* pixels, int64_t step,
                    int64_t count);
  // planes[c * plane + p] = pixels[p * step + c]
  void (*to_planes)(const uint16_t* pixels, int64_t step, uint16_t* planes, int64_t plane,
                    int64_t count);
};

ONEFLOW_DECLARE_ISA_TABLE(TurnLoops, GetTurnLoops);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_CONV_TURN_LOOPS_H_
