// The kernels that arrange weights of convolutions in the order of the vectorised kernels, and back
// (vm/arrangement.h): they never fail.
#include "oneflow/kernels/cpu/conv/filter_blocks.h"

#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

// Of the permutation that brings `i` to PlaceOf(i): each cycle from its smallest element.
void FollowCycles(const FilterRun& run, bool to_blocks, float* data) {
  for (int64_t first = 0; first < run.Count(); ++first) {
    int64_t at = run.PlaceOf(first);
    while (at > first) { at = run.PlaceOf(at); }
    if (at < first) { continue; }  // moved before
    float kept = data[first];
    if (to_blocks) {
      do {
        at = run.PlaceOf(at);
        std::swap(kept, data[at]);
      } while (at != first);
      continue;
    }
    for (int64_t next = run.PlaceOf(at); next != first; next = run.PlaceOf(at)) {
      data[at] = data[next];
      at = next;
    }
    data[at] = kept;
  }
}

template <bool to_blocks>
void MoveBlock(const float* from, float* to, int64_t pixels, int64_t filter) {
  for (int64_t c = 0; c < kChannelBlock; ++c) {
    for (int64_t o = 0; o < kChannelBlock; ++o) {
      const int64_t in_blocks = c * kChannelBlock + o;
      const int64_t plain = o * filter + c * pixels;
      to[to_blocks ? in_blocks : plain] = from[to_blocks ? plain : in_blocks];
    }
  }
}

template <bool to_blocks>
void MoveRun(const FilterRun& run, const float* from, float* to) {
  const int64_t filter = run.channels * run.pixels;
  const int64_t blocks = run.channels / kChannelBlock;
  for (int64_t b = 0; b < blocks; ++b) {
    for (int64_t p = 0; p < run.pixels; ++p) {
      const int64_t plain = b * kChannelBlock * run.pixels + p;
      const int64_t in_blocks = (b * run.pixels + p) * kChannelBlock * kChannelBlock;
      MoveBlock<to_blocks>(from + (to_blocks ? plain : in_blocks),
                           to + (to_blocks ? in_blocks : plain), run.pixels, filter);
    }
  }
}

template <bool to_blocks>
Maybe<void> Run(const KernelCall& call) {
  const ArrayView& array = call.outputs[0];
  const FilterRun run{array.shape[1], array.shape[2] * array.shape[3]};
  const int64_t runs = array.shape[0] / kChannelBlock;
  auto* data = array.Data<float>();
  ParallelFor(call.threads, runs, 1, [&](int64_t i, int64_t) {
    const std::unique_ptr<float[]> copy(new (std::nothrow) float[static_cast<size_t>(run.Count())]);
    MoveFilterRun(run, to_blocks, data + i * run.Count(), copy.get());
  });
  return Ok();
}

double Cost(const KernelCall& call) { return 100.0 + 4 * MemoryCostNs(BytesOf(call.outputs[0])); }

}  // namespace

void MoveFilterRun(const FilterRun& run, bool to_blocks, float* data, float* copy) {
  if (copy == nullptr) { return FollowCycles(run, to_blocks, data); }
  std::memcpy(copy, data, static_cast<size_t>(run.Count()) * sizeof(float));
  to_blocks ? MoveRun<true>(run, copy, data) : MoveRun<false>(run, copy, data);
}

ONEFLOW_REGISTER_KERNEL(arrange, {"filter_blocks.cpu.arrange", &Run<true>, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(restore, {"filter_blocks.cpu.restore", &Run<false>, nullptr, &Cost});

}  // namespace cpu
}  // namespace oneflow
