// The kernels scatter_pixels, unpool_pixels and gather_pixels: by index inside each plane.
//
// scatter adds values up where several have one index; unpool keeps the last; gather reads.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/cpu/batch_parts.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/dense_call.h"
#include "oneflow/kernels/cpu/stream_loops.h"
#include "oneflow/kernels/cpu/thread_index.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

enum class Job { kScatter, kUnpool, kGather };

const char* NameOf(Job job) {
  switch (job) {
    case Job::kScatter: return "scatter_pixels";
    case Job::kUnpool: return "max_unpool";
    case Job::kGather: break;
  }
  return "gather_pixels";
}

int64_t PixelsOf(const ArrayView& view) {
  int64_t pixels = 1;
  for (int d = 2; d < view.ndim; ++d) { pixels *= view.shape[d]; }
  return pixels;
}

// Planes up to this size are made in a part of scratch that the second cache holds, and stored from
// there past the caches, where the result is too large for them.
constexpr size_t kStreamedPlane = size_t{512} << 10;

size_t PlaneBytes(const KernelCall& call) {
  const size_t bytes = static_cast<size_t>(PixelsOf(call.outputs[0])) * sizeof(float);
  const bool fits = call.outputs[0].dtype != DataType::kDouble && bytes % 64 == 0;
  return fits && bytes <= kStreamedPlane ? bytes : 0;
}

// -1: none of them is out of [0, limit).
int64_t FirstBad(const int64_t* indices, int64_t count, int64_t limit) {
  uint64_t outside = 0;  // its sign, of an index or of its distance from the last good one
  for (int64_t i = 0; i < count; ++i) {
    const auto index = static_cast<uint64_t>(indices[i]);
    outside |= index | (static_cast<uint64_t>(limit - 1) - index);
  }
  if (static_cast<int64_t>(outside) >= 0) { return -1; }
  int64_t first = 0;
  while (indices[first] >= 0 && indices[first] < limit) { ++first; }
  return first;
}

template <typename T, Job job>
void RunPlane(const T* values, const int64_t* indices, int64_t count, T* out, int64_t out_pixels) {
  if (job == Job::kGather) {
    for (int64_t i = 0; i < count; ++i) { out[i] = values[indices[i]]; }
    return;
  }
  std::memset(out, 0, sizeof(T) * static_cast<size_t>(out_pixels));
  for (int64_t i = 0; i < count; ++i) {
    if (job == Job::kScatter) {
      out[indices[i]] += values[i];
    } else {
      out[indices[i]] = values[i];
    }
  }
}

// All planes with good indices; the place of the first index that is bad, or -1.
template <typename T, Job job>
int64_t RunAs(const KernelCall& call, char* scratch) {
  const int64_t in_pixels = PixelsOf(call.inputs[0]);
  const int64_t out_pixels = PixelsOf(call.outputs[0]);
  const int64_t count = PixelsOf(call.inputs[1]);
  const int64_t limit = job == Job::kGather ? in_pixels : out_pixels;
  const int64_t planes = call.inputs[0].shape[0] * call.inputs[0].shape[1];
  const int64_t work = std::max<int64_t>(1, in_pixels + out_pixels);
  const size_t plane_bytes = PlaneBytes(call);
  const auto out_bytes = static_cast<int64_t>(BytesOf(call.outputs[0]));
  const bool streams = job == Job::kScatter && plane_bytes > 0 &&
                       WorthStreaming(call.outputs[0].data, out_bytes,
                                      out_bytes + static_cast<int64_t>(BytesOf(call.inputs[1])));
  std::atomic<int64_t> bad{planes * count};
  ParallelFor(call.threads, planes, std::max<int64_t>(1, (1 << 15) / work),
              [&](int64_t begin, int64_t end) {
                T* staged = reinterpret_cast<T*>(scratch +
                                                 plane_bytes * static_cast<size_t>(ThreadIndex()));
                for (int64_t p = begin; p < end; ++p) {
                  const int64_t* indices = call.inputs[1].Data<int64_t>() + p * count;
                  const int64_t first = FirstBad(indices, count, limit);
                  if (first >= 0) {
                    int64_t seen = bad.load();
                    while (p * count + first < seen &&
                           !bad.compare_exchange_weak(seen, p * count + first)) {}
                    return;
                  }
                  T* out = call.outputs[0].Data<T>() + p * out_pixels;
                  RunPlane<T, job>(call.inputs[0].Data<T>() + p * in_pixels, indices, count,
                                   streams ? staged : out, out_pixels);
                  if (streams) {
                    GetStreamLoops().copy(out, staged, static_cast<int64_t>(plane_bytes));
                  }
                }
                if (streams) { GetStreamLoops().fence(); }
              });
  return bad == planes * count ? -1 : bad.load();
}

template <Job job>
Maybe<void> Run(const KernelCall& call) {
  return RunDenseByParts(call, [](const KernelCall& dense) -> Maybe<void> {
    char* scratch = static_cast<char*>(dense.scratch);
    if (scratch != nullptr) { scratch += (64 - reinterpret_cast<uintptr_t>(scratch) % 64) % 64; }
    const bool is_double = dense.outputs[0].dtype == DataType::kDouble;
    const int64_t bad =
        is_double ? RunAs<double, job>(dense, scratch) : RunAs<float, job>(dense, scratch);
    if (bad < 0) { return Ok(); }
    return IndexError("[{}] expects indices in [0, {}), the pixels of a plane, got {}", NameOf(job),
                      PixelsOf(job == Job::kGather ? dense.inputs[0] : dense.outputs[0]),
                      dense.inputs[1].Data<int64_t>()[bad]);
  });
}

double Cost(const KernelCall& call) {
  return 100.0 + MemoryCostNs(BytesOf(call.inputs[0]) + BytesOf(call.outputs[0])) +
         2.0 * static_cast<double>(call.inputs[1].Count());
}

size_t ScratchOfPart(const KernelCall& call) {
  const size_t plane = PlaneBytes(call);
  if (plane == 0) { return DenseCall::ScratchBytes(call); }
  return DenseCall::ScratchBytes(call) + 64 +
         plane * static_cast<size_t>(std::max(call.threads, 1));
}

size_t Scratch(const KernelCall& call) { return ScratchByParts(call, &ScratchOfPart); }

}  // namespace

#define ONEFLOW_REGISTER_PIXELS(id, job) \
  ONEFLOW_REGISTER_KERNEL(               \
      id, {#id ".cpu.vector", &Run<job>, &AcceptOneFloatingDtype, &Cost, &Scratch})

ONEFLOW_REGISTER_PIXELS(scatter_pixels, Job::kScatter);
ONEFLOW_REGISTER_PIXELS(unpool_pixels, Job::kUnpool);
ONEFLOW_REGISTER_PIXELS(gather_pixels, Job::kGather);

}  // namespace cpu
}  // namespace oneflow
