// Sums over each channel of an array, in the two layouts that need different loops: channels of
// long runs (pictures), and channels that are neighbours (channels-last, vectors).
//
// Thread safety: pure functions. Blocking: waits for its own threads only.
#ifndef ONEFLOW_KERNELS_CPU_NORM_CHANNEL_STATS_H_
#define ONEFLOW_KERNELS_CPU_NORM_CHANNEL_STATS_H_

#include <cstddef>
#include <cstdint>

#include "oneflow/kernels/cpu/norm/channel_extents.h"
#include "oneflow/kernels/cpu/norm/run_loops.h"

namespace oneflow {
namespace cpu {

// What the functions below want of scratch: partial sums of neighbouring channels.
size_t ChannelStatsScratch(const ChannelExtents& e);

// mean[c], variance[c] (biased) of x. `scratch` holds ChannelStatsScratch() bytes.
template <typename T>
void ChannelMoments(const T* x, const ChannelExtents& e, T* mean, T* variance, void* scratch,
                    int threads);

// The sums of dy and of dy * (x - mean), for neighbouring channels (inner == 1).
template <typename T>
void NeighbourSums(const T* dy, const T* x, const ChannelExtents& e, const T* mean, double* sum_dy,
                   double* sum_dyx, void* scratch, int threads);

// The runs of a channel, from its first element on (inner > 1).
inline Runs RunsOf(const ChannelExtents& e) { return {e.outer, e.channels * e.inner, e.inner}; }

// The moments of one channel of runs (inner > 1), of an array of E: T, or BFloat16 with T = float.
template <typename T, typename E>
void RunMoments(const E* x, const ChannelExtents& e, int64_t channel, T* mean, T* variance);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_NORM_CHANNEL_STATS_H_
