// An array as (outer, channels, inner): which elements belong to one channel.
//
// Thread safety: values.
#ifndef ONEFLOW_KERNELS_CPU_NORM_CHANNEL_EXTENTS_H_
#define ONEFLOW_KERNELS_CPU_NORM_CHANNEL_EXTENTS_H_

#include <algorithm>
#include <cstdint>

#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

struct ChannelExtents {
  int64_t outer = 1, channels = 1, inner = 1;

  ChannelExtents(const ArrayView& x, int64_t axis) {
    for (int d = 0; d < x.ndim; ++d) {
      (d < axis ? outer : d == axis ? channels : inner) *= x.shape[d];
    }
  }
  // Elements of one channel.
  int64_t count() const { return outer * inner; }
  int64_t total() const { return outer * channels * inner; }
};

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_NORM_CHANNEL_EXTENTS_H_
