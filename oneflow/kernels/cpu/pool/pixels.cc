// The kernels scatter_pixels, unpool_pixels and gather_pixels: by index inside each plane.
//
// scatter adds values up where several have one index; unpool keeps the last; gather reads.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/dense_call.h"
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

// Indices are checked before anything is written. -1: none is out of range.
int64_t FirstBad(const KernelCall& call, int64_t limit) {
  const int64_t* indices = call.inputs[1].Data<int64_t>();
  const int64_t count = call.inputs[1].Count();
  std::atomic<int64_t> bad{count};
  ParallelFor(call.threads, count, 1 << 16, [&](int64_t begin, int64_t end) {
    bool good = true;
    for (int64_t i = begin; i < end; ++i) { good &= indices[i] >= 0 && indices[i] < limit; }
    if (good) { return; }
    int64_t first = begin;
    while (indices[first] >= 0 && indices[first] < limit) { ++first; }
    int64_t seen = bad.load();
    while (first < seen && !bad.compare_exchange_weak(seen, first)) {}
  });
  return bad == count ? -1 : bad.load();
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

template <typename T, Job job>
void RunAs(const KernelCall& call) {
  const int64_t in_pixels = PixelsOf(call.inputs[0]);
  const int64_t out_pixels = PixelsOf(call.outputs[0]);
  const int64_t count = PixelsOf(call.inputs[1]);
  const int64_t planes = call.inputs[0].shape[0] * call.inputs[0].shape[1];
  const int64_t work = std::max<int64_t>(1, in_pixels + out_pixels);
  ParallelFor(call.threads, planes, std::max<int64_t>(1, (1 << 15) / work),
              [&](int64_t begin, int64_t end) {
                for (int64_t p = begin; p < end; ++p) {
                  RunPlane<T, job>(call.inputs[0].Data<T>() + p * in_pixels,
                                   call.inputs[1].Data<int64_t>() + p * count, count,
                                   call.outputs[0].Data<T>() + p * out_pixels, out_pixels);
                }
              });
}

template <Job job>
Maybe<void> Run(const KernelCall& call) {
  return RunDense(call, [](const KernelCall& dense) -> Maybe<void> {
    const int64_t limit = PixelsOf(job == Job::kGather ? dense.inputs[0] : dense.outputs[0]);
    const int64_t bad = FirstBad(dense, limit);
    if (bad >= 0) {
      return IndexError("[{}] expects indices in [0, {}), the pixels of a plane, got {}",
                        NameOf(job), limit, dense.inputs[1].Data<int64_t>()[bad]);
    }
    if (dense.outputs[0].dtype == DataType::kDouble) {
      RunAs<double, job>(dense);
    } else {
      RunAs<float, job>(dense);
    }
    return Ok();
  });
}

double Cost(const KernelCall& call) {
  return 100.0 + MemoryCostNs(BytesOf(call.inputs[0]) + BytesOf(call.outputs[0])) +
         2.0 * static_cast<double>(call.inputs[1].Count());
}

size_t Scratch(const KernelCall& call) { return DenseCall::ScratchBytes(call); }

}  // namespace

#define ONEFLOW_REGISTER_PIXELS(id, job) \
  ONEFLOW_REGISTER_KERNEL(               \
      id, {#id ".cpu.vector", &Run<job>, &AcceptOneFloatingDtype, &Cost, &Scratch})

ONEFLOW_REGISTER_PIXELS(scatter_pixels, Job::kScatter);
ONEFLOW_REGISTER_PIXELS(unpool_pixels, Job::kUnpool);
ONEFLOW_REGISTER_PIXELS(gather_pixels, Job::kGather);

}  // namespace cpu
}  // namespace oneflow
