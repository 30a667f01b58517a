#include "oneflow/kernels/cpu/norm/channel_stats.h"

#include <cstring>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/cpu/norm/norm_loops.h"
#include "oneflow/kernels/cpu/norm/run_loops.h"

namespace oneflow {
namespace cpu {

namespace {

constexpr int64_t kSliceRows = 1024;  // rows of neighbouring channels that one thread adds up

int64_t Slices(const ChannelExtents& e) { return (e.outer + kSliceRows - 1) / kSliceRows; }

// Adds up `count` sums for each channel: body(first row, rows, first channel, channels, sums),
// where sum number k of channel c is at sums[k * e.channels + c]. The slices' sums are in scratch,
// and their total is left in its first part.
template <typename Body>
void ForEachSlice(const ChannelExtents& e, int count, double* sums, int threads, const Body& body) {
  const int64_t slices = Slices(e);
  const int64_t tiles = (e.channels + kNormTile - 1) / kNormTile;
  const int64_t per_slice = count * e.channels;
  std::memset(sums, 0, static_cast<size_t>(slices * per_slice) * sizeof(double));
  ParallelFor(threads, slices * tiles, 1, [&](int64_t item, int64_t) {
    const int64_t slice = item / tiles;
    const int64_t channel = item % tiles * kNormTile;
    const int64_t row = slice * kSliceRows;
    body(row, std::min(kSliceRows, e.outer - row), channel,
         std::min(kNormTile, e.channels - channel), sums + slice * per_slice + channel);
  });
  for (int64_t slice = 1; slice < slices; ++slice) {
    for (int64_t i = 0; i < per_slice; ++i) { sums[i] += sums[slice * per_slice + i]; }
  }
}

template <typename T>
void NeighbourMoments(const T* x, const ChannelExtents& e, T* mean, T* variance, double* sums,
                      int threads) {
  const NormLoops<T>& loops = GetNormLoops<T>();
  const double count = static_cast<double>(e.outer);
  ForEachSlice(e, 1, sums, threads,
               [&](int64_t row, int64_t rows, int64_t channel, int64_t channels, double* to) {
                 loops.columns_sum(x + row * e.channels + channel, e.channels, rows, channels, to);
               });
  for (int64_t c = 0; c < e.channels; ++c) { mean[c] = static_cast<T>(sums[c] / count); }
  ForEachSlice(e, 1, sums, threads,
               [&](int64_t row, int64_t rows, int64_t channel, int64_t channels, double* to) {
                 loops.columns_squares(x + row * e.channels + channel, e.channels, rows, channels,
                                       mean + channel, to);
               });
  for (int64_t c = 0; c < e.channels; ++c) { variance[c] = static_cast<T>(sums[c] / count); }
}

}  // namespace

size_t ChannelStatsScratch(const ChannelExtents& e) {
  if (e.inner != 1) { return 0; }
  return static_cast<size_t>(2 * std::max<int64_t>(1, Slices(e)) * e.channels) * sizeof(double);
}

template <typename T, typename E>
void RunMoments(const E* x, const ChannelExtents& e, int64_t channel, T* mean, T* variance) {
  const RunLoopsOf<T, E>& loops = GetRunLoops<T, E>();
  const double count = static_cast<double>(e.count());
  const E* from = x + channel * e.inner;
  const Runs runs = RunsOf(e);
  *mean = static_cast<T>(loops.sum(from, runs) / count);
  const double squares = loops.sum_squares(from, runs, *mean);
  *variance = static_cast<T>(squares / count);
}

template <typename T>
void ChannelMoments(const T* x, const ChannelExtents& e, T* mean, T* variance, void* scratch,
                    int threads) {
  if (e.inner == 1) {
    return NeighbourMoments(x, e, mean, variance, static_cast<double*>(scratch), threads);
  }
  ParallelFor(threads, e.channels, 1,
              [&](int64_t c, int64_t) { RunMoments(x, e, c, mean + c, variance + c); });
}

template <typename T>
void NeighbourSums(const T* dy, const T* x, const ChannelExtents& e, const T* mean, double* sum_dy,
                   double* sum_dyx, void* scratch, int threads) {
  const NormLoops<T>& loops = GetNormLoops<T>();
  auto* sums = static_cast<double*>(scratch);
  ForEachSlice(e, 2, sums, threads,
               [&](int64_t row, int64_t rows, int64_t channel, int64_t channels, double* to) {
                 const int64_t at = row * e.channels + channel;
                 loops.columns_sums(dy + at, x + at, e.channels, rows, channels, mean + channel, to,
                                    to + e.channels);
               });
  std::memcpy(sum_dy, sums, static_cast<size_t>(e.channels) * sizeof(double));
  std::memcpy(sum_dyx, sums + e.channels, static_cast<size_t>(e.channels) * sizeof(double));
}

#define ONEFLOW_INSTANTIATE(T)                                                              \
  template void RunMoments(const T*, const ChannelExtents&, int64_t, T*, T*);               \
  template void ChannelMoments(const T*, const ChannelExtents&, T*, T*, void*, int);        \
  template void NeighbourSums(const T*, const T*, const ChannelExtents&, const T*, double*, \
                              double*, void*, int)
ONEFLOW_INSTANTIATE(float);
ONEFLOW_INSTANTIATE(double);
#undef ONEFLOW_INSTANTIATE
template void RunMoments(const BFloat16*, const ChannelExtents&, int64_t, float*, float*);

}  // namespace cpu
}  // namespace oneflow
