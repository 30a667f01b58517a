// An array as (outer, n, inner) around one dim, and how it is cut for threads.
//
// Thread safety: values; pure functions.
#ifndef ONEFLOW_KERNELS_CPU_SOFTMAX_SOFTMAX_EXTENTS_H_
#define ONEFLOW_KERNELS_CPU_SOFTMAX_SOFTMAX_EXTENTS_H_

#include <algorithm>
#include <cstdint>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/cpu/softmax/softmax_loops.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

// n along the dim.
struct SoftmaxExtents {
  static constexpr int64_t kGrain = 4096;  // elements: an exponential costs some additions

  int64_t outer = 1, n = 1, inner = 1;

  SoftmaxExtents(const ArrayView& view, int64_t dim) {
    for (int d = 0; d < view.ndim; ++d) {
      (d < dim ? outer : d == dim ? n : inner) *= view.shape[d];
    }
  }
  int64_t total() const { return outer * n * inner; }
  int64_t tiles() const { return (inner + kSoftmaxTile - 1) / kSoftmaxTile; }
};

// Calls body(element offset, columns) for each vector (inner == 1), or tile of neighbouring
// vectors.
template <typename Body>
void ForEachSoftmaxTile(const SoftmaxExtents& e, int threads, const Body& body) {
  const int64_t per_tile = std::max<int64_t>(1, e.n * std::min(e.inner, kSoftmaxTile));
  const int64_t grain = std::max<int64_t>(1, SoftmaxExtents::kGrain / per_tile);
  ParallelFor(threads, e.outer * e.tiles(), grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t column = i % e.tiles() * kSoftmaxTile;
      body(i / e.tiles() * e.n * e.inner + column, std::min(kSoftmaxTile, e.inner - column));
    }
  });
}

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_SOFTMAX_SOFTMAX_EXTENTS_H_
