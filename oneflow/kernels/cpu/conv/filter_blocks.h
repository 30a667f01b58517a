// The weight (O, C, H, W) of a convolution in the order (O / 16, C / 16, H, W, 16 of C, 16 of O), in place.
//
// 16 filters are one run of memory in both orders, so that each run is moved by itself. Thread safety: pure
// functions.
#ifndef ONEFLOW_KERNELS_CPU_CONV_FILTER_BLOCKS_H_
#define ONEFLOW_KERNELS_CPU_CONV_FILTER_BLOCKS_H_

#include <cstdint>

#include "oneflow/kernels/attrs_spatial.h"

namespace oneflow {
namespace cpu {

// 16 filters: (16, channels, pixels), channels a multiple of 16.
struct FilterRun {
  int64_t channels;
  int64_t pixels;

  int64_t Count() const { return kChannelBlock * channels * pixels; }
  // Where element `i` of the plain order lies in blocks.
  int64_t PlaceOf(int64_t i) const {
    const int64_t pixel = i % pixels;
    const int64_t channel = i / pixels % channels;
    const int64_t filter = i / pixels / channels;
    const int64_t block = channel / kChannelBlock * pixels + pixel;
    return (block * kChannelBlock + channel % kChannelBlock) * kChannelBlock + filter;
  }
};

// Brings a run into blocks, or out of them. `copy` has room for it; nullptr: there is no memory for that, and
// elements go around their cycles one by one, which is slow.
void MoveFilterRun(const FilterRun& run, bool to_blocks, float* data, float* copy);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_CONV_FILTER_BLOCKS_H_
