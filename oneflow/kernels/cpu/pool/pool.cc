// The kernels of avg_pool, adaptive_avg_pool, and their gradients. Maxima: max_pool.cc.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs_spatial.h"
#include "oneflow/kernels/cpu/batch_parts.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/dense_call.h"
#include "oneflow/kernels/cpu/pool/pool_loops.h"
#include "oneflow/kernels/cpu/pool/pool_plan.h"
#include "oneflow/kernels/cpu/thread_index.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

// Elements that are worth handing to a thread.
constexpr int64_t kGrainElements = 1 << 15;

template <typename T>
const auto& LoopsFor() {
  if constexpr (std::is_same_v<T, float>) {
    return GetPoolLoops().single;
  } else {
    return GetPoolLoops().wide;
  }
}

// The plan of a call, where `image` is the larger array and `pooled` the smaller.
template <bool kAdaptive>
PoolPlan PlanOf(const KernelCall& call, const ArrayView& image, const ArrayView& pooled) {
  if constexpr (kAdaptive) {
    return AdaptivePlan(image, pooled);
  } else {
    return FixedPlan(call.GetAttrs<PoolAttrs>(), image, pooled);
  }
}

// Two lines of the image's width and two of the result's, of elements of 8 bytes, for each thread.
size_t LineBytes(const KernelCall& call, const ArrayView& image, const ArrayView& pooled,
                 bool adaptive) {
  const int64_t width = image.shape[image.ndim - 1];
  const int64_t out = pooled.shape[pooled.ndim - 1];
  int64_t padded = width;
  if (!adaptive) {
    const auto& attrs = call.GetAttrs<PoolAttrs>();
    const int last = attrs.kernel.count - 1;
    padded += attrs.padding[last] * 2 + attrs.stride[last] +
              (attrs.kernel[last] - 1) * attrs.dilation[last] + 1;
  }
  return static_cast<size_t>((padded + out) * 2 * 8 + 256) / 64 * 64;
}

// ---- the average --------------------------------------------------------------------------------

template <typename T>
class AvgPool {
 public:
  // `image` is averaged into `pooled`, or has the gradient of `pooled` spread into it.
  AvgPool(const PoolPlan& plan, const KernelCall& call, size_t line_bytes)
      : p_(plan), call_(call), line_bytes_(line_bytes) {}

  void Forward() const {
    if (p_.IsGlobal()) { return AverageOfPlanes(); }
    const int64_t lines_per_plane = p_.axes[0].out * p_.axes[1].out;
    const int64_t work = p_.axes[2].in * (p_.axes[1].in / std::max<int64_t>(1, p_.axes[1].out) + 1);
    ParallelFor(call_.threads, p_.planes * lines_per_plane,
                std::max<int64_t>(1, kGrainElements / std::max<int64_t>(1, work)),
                [&](int64_t begin, int64_t end) {
                  T* line = MakeLine();
                  for (int64_t i = begin; i < end; ++i) {
                    ForwardLine(i / lines_per_plane, i % lines_per_plane, line);
                  }
                });
  }

  void Backward() const {
    if (p_.IsGlobal()) { return ShareOfPlanes(); }
    const int64_t grain =
        std::max<int64_t>(1, kGrainElements / std::max<int64_t>(1, p_.InPixels()));
    ParallelFor(call_.threads, p_.planes, grain, [&](int64_t begin, int64_t end) {
      T* line = MakeLine();
      for (int64_t plane = begin; plane < end; ++plane) { BackwardPlane(plane, line); }
    });
  }

 private:
  // A window for each plane.
  void AverageOfPlanes() const {
    const int64_t pixels = p_.InPixels();
    const T divisor = static_cast<T>(pixels);
    ParallelFor(call_.threads, p_.planes, std::max<int64_t>(1, kGrainElements / pixels),
                [&](int64_t begin, int64_t end) {
                  const auto& loops = LoopsFor<T>();
                  const T* image = call_.inputs[0].Data<T>();
                  T* out = call_.outputs[0].Data<T>();
                  for (int64_t i = begin; i < end; ++i) {
                    out[i] = loops.sum_of(image + i * pixels, pixels) / divisor;
                  }
                });
  }

  void ShareOfPlanes() const {
    const int64_t pixels = p_.InPixels();
    const T divisor = static_cast<T>(pixels);
    ParallelFor(call_.threads, p_.planes, std::max<int64_t>(1, kGrainElements / pixels),
                [&](int64_t begin, int64_t end) {
                  const T* grad = call_.inputs[0].Data<T>();
                  T* image = call_.outputs[0].Data<T>();
                  for (int64_t i = begin; i < end; ++i) {
                    std::fill_n(image + i * pixels, pixels, grad[i] / divisor);
                  }
                });
  }

  T* MakeLine() const {
    char* at = static_cast<char*>(call_.scratch) + line_bytes_ * static_cast<size_t>(ThreadIndex());
    T* line = reinterpret_cast<T*>(at);
    for (int64_t i = 0; i < p_.LineLength(); ++i) { line[i] = T(0); }
    return line;
  }

  // Calls body(row of the plane) for each row of the windows of a line of results.
  template <typename Body>
  void ForEachRow(int64_t line, const Body& body) const {
    const PoolRange& depth = p_.axes[0].ranges[static_cast<size_t>(line / p_.axes[1].out)];
    const PoolRange& height = p_.axes[1].ranges[static_cast<size_t>(line % p_.axes[1].out)];
    for (int64_t i = 0; i < depth.count; ++i) {
      const int64_t d = depth.begin + i * p_.axes[0].step;
      for (int64_t j = 0; j < height.count; ++j) {
        body((d * p_.axes[1].in + height.begin + j * p_.axes[1].step) * p_.axes[2].in);
      }
    }
  }

  // What the results of a line are divided by, apart from the innermost axis.
  double OuterDivisor(int64_t line) const {
    return p_.axes[0].ranges[static_cast<size_t>(line / p_.axes[1].out)].divisor *
           p_.axes[1].ranges[static_cast<size_t>(line % p_.axes[1].out)].divisor;
  }

  void Divide(int64_t line, const T* from, T* to) const {
    if (p_.divisor != 0) {
      const T by = static_cast<T>(p_.divisor);
      for (int64_t o = 0; o < p_.axes[2].out; ++o) { to[o] = from[o] / by; }
      return;
    }
    const double outer = OuterDivisor(line);
    for (int64_t o = 0; o < p_.axes[2].out; ++o) {
      to[o] = from[o] / static_cast<T>(outer * p_.axes[2].ranges[static_cast<size_t>(o)].divisor);
    }
  }

  void ForwardLine(int64_t plane, int64_t line, T* padded) const {
    const auto& loops = LoopsFor<T>();
    const T* image = call_.inputs[0].Data<T>() + plane * p_.InPixels();
    const int64_t width = p_.axes[2].in;
    T* sum = padded + p_.before;
    bool first = true;
    ForEachRow(line, [&](int64_t row) {
      if (first) {
        std::memcpy(sum, image + row, sizeof(T) * static_cast<size_t>(width));
      } else {
        loops.add(image + row, sum, width);
      }
      first = false;
    });
    if (first) { std::memset(sum, 0, sizeof(T) * static_cast<size_t>(width)); }
    T* out = call_.outputs[0].Data<T>() +
             (plane * p_.axes[0].out * p_.axes[1].out + line) * p_.axes[2].out;
    if (p_.fixed) {
      loops.sum_across(padded, p_.line, out);
    } else {
      for (int64_t o = 0; o < p_.axes[2].out; ++o) {
        const PoolRange& range = p_.axes[2].ranges[static_cast<size_t>(o)];
        out[o] = loops.sum_of(sum + range.begin, range.count);
      }
    }
    Divide(line, out, out);
  }

  void BackwardPlane(int64_t plane, T* padded) const {
    const auto& loops = LoopsFor<T>();
    T* image = call_.outputs[0].Data<T>() + plane * p_.InPixels();
    std::memset(image, 0, sizeof(T) * static_cast<size_t>(p_.InPixels()));
    const int64_t lines = p_.axes[0].out * p_.axes[1].out;
    T* shares = padded + p_.LineLength();
    for (int64_t line = 0; line < lines; ++line) {
      const T* grad = call_.inputs[0].Data<T>() + (plane * lines + line) * p_.axes[2].out;
      Divide(line, grad, shares);
      std::memset(padded, 0, sizeof(T) * static_cast<size_t>(p_.LineLength()));
      SpreadLine(shares, padded);
      ForEachRow(line,
                 [&](int64_t row) { loops.add(padded + p_.before, image + row, p_.axes[2].in); });
    }
  }

  void SpreadLine(const T* shares, T* padded) const {
    if (p_.fixed) { return LoopsFor<T>().spread_across(shares, p_.line, padded); }
    for (int64_t o = 0; o < p_.axes[2].out; ++o) {
      const PoolRange& range = p_.axes[2].ranges[static_cast<size_t>(o)];
      for (int64_t i = 0; i < range.count; ++i) { padded[range.begin + i] += shares[o]; }
    }
  }

  const PoolPlan& p_;
  const KernelCall& call_;
  const size_t line_bytes_;
};

// ---- kernels ------------------------------------------------------------------------------------

enum class Job { kAverage, kAverageGrad };

template <Job job, bool kAdaptive>
size_t Lines(const KernelCall& call) {
  const ArrayView& image = job == Job::kAverageGrad ? call.outputs[0] : call.inputs[0];
  const ArrayView& pooled = job == Job::kAverageGrad ? call.inputs[0] : call.outputs[0];
  return LineBytes(call, image, pooled, kAdaptive);
}

template <Job job, bool kAdaptive>
size_t ScratchOfPart(const KernelCall& call) {
  return DenseCall::ScratchBytes(call) +
         Lines<job, kAdaptive>(call) * static_cast<size_t>(std::max(call.threads, 1));
}

template <Job job, bool kAdaptive>
size_t Scratch(const KernelCall& call) {
  return ScratchByParts(call, &ScratchOfPart<job, kAdaptive>);
}

template <typename T, Job job, bool kAdaptive>
void RunAs(const KernelCall& call) {
  const bool gradient = job == Job::kAverageGrad;
  const PoolPlan plan = PlanOf<kAdaptive>(call, gradient ? call.outputs[0] : call.inputs[0],
                                          gradient ? call.inputs[0] : call.outputs[0]);
  const size_t lines = Lines<job, kAdaptive>(call);
  switch (job) {
    case Job::kAverage: AvgPool<T>(plan, call, lines).Forward(); break;
    case Job::kAverageGrad: AvgPool<T>(plan, call, lines).Backward(); break;
  }
}

template <Job job, bool kAdaptive>
Maybe<void> Run(const KernelCall& call) {
  return RunDenseByParts(call, [](const KernelCall& dense) -> Maybe<void> {
    if (dense.outputs[0].Count() == 0) { return Ok(); }
    if (dense.outputs[0].dtype == DataType::kDouble) {
      RunAs<double, job, kAdaptive>(dense);
    } else {
      RunAs<float, job, kAdaptive>(dense);
    }
    return Ok();
  });
}

template <Job job, bool kAdaptive>
double Cost(const KernelCall& call) {
  const double bytes = BytesOf(call.inputs[0]) + BytesOf(call.outputs[0]);
  const auto elements = static_cast<double>(call.inputs[0].Count() + call.outputs[0].Count());
  // A plane's average is a sum of what lies side by side, and its gradient a fill.
  const ArrayView& pooled = job == Job::kAverageGrad ? call.inputs[0] : call.outputs[0];
  const bool global =
      kAdaptive && pooled.ndim > 2 && pooled.Count() == pooled.shape[0] * pooled.shape[1];
  if (global) { return 100.0 + MemoryCostNs(bytes) + 0.03 * elements; }
  double each = 0.5 * elements;
  if (!kAdaptive) {
    const auto& attrs = call.GetAttrs<PoolAttrs>();
    for (int d = 0; d + 1 < attrs.kernel.count; ++d) {
      each *= std::max(1.0,
                       static_cast<double>(attrs.kernel[d]) / static_cast<double>(attrs.stride[d]));
    }
  }
  return 200.0 + MemoryCostNs(bytes) + each;
}

}  // namespace

#define ONEFLOW_REGISTER_POOL(id, job, adaptive)                                                \
  ONEFLOW_REGISTER_KERNEL(id, {#id ".cpu.vector", &Run<job, adaptive>, &AcceptOneFloatingDtype, \
                               &Cost<job, adaptive>, &Scratch<job, adaptive>})

ONEFLOW_REGISTER_POOL(avg_pool, Job::kAverage, false);
ONEFLOW_REGISTER_POOL(avg_pool_grad, Job::kAverageGrad, false);
ONEFLOW_REGISTER_POOL(adaptive_avg_pool, Job::kAverage, true);
ONEFLOW_REGISTER_POOL(adaptive_avg_pool_grad, Job::kAverageGrad, true);

}  // namespace cpu
}  // namespace oneflow
