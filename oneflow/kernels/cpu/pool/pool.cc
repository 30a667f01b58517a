// The kernels of max_pool, avg_pool, their adaptive forms, and the gradient of averages.
#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs_spatial.h"
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
// Of a narrower image the windows are gone through one by one: a vector would hardly fill.
constexpr int64_t kNarrow = 16;

template <typename T>
using IndexOf = std::conditional_t<std::is_same_v<T, float>, int32_t, int64_t>;

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

// ---- the maximum --------------------------------------------------------------------------------

template <typename T>
class MaxPool {
  using I = IndexOf<T>;

 public:
  MaxPool(const PoolPlan& plan, const KernelCall& call, size_t line_bytes)
      : p_(plan), call_(call), line_bytes_(line_bytes) {}

  void Run() const {
    const int64_t lines_per_plane = p_.axes[0].out * p_.axes[1].out;
    const int64_t work = p_.axes[2].in * (p_.axes[1].in / std::max<int64_t>(1, p_.axes[1].out) + 1);
    ParallelFor(call_.threads, p_.planes * lines_per_plane,
                std::max<int64_t>(1, kGrainElements / std::max<int64_t>(1, work)),
                [&](int64_t begin, int64_t end) {
                  Buffers b = MakeBuffers();
                  for (int64_t i = begin; i < end; ++i) {
                    RunLine(i / lines_per_plane, i % lines_per_plane, b);
                  }
                });
  }

 private:
  struct Buffers {
    T* best;
    I* index;
    I* out_index;
  };

  Buffers MakeBuffers() const {
    char* at = static_cast<char*>(call_.scratch) + line_bytes_ * static_cast<size_t>(ThreadIndex());
    Buffers b;
    b.best = reinterpret_cast<T*>(at);
    b.index = reinterpret_cast<I*>(b.best + p_.LineLength());
    b.out_index = b.index + p_.LineLength();
    // Neutral elements: below everything, and behind every index.
    const auto neutral = [&](int64_t i) {
      b.best[i] = -std::numeric_limits<T>::infinity();
      b.index[i] = std::numeric_limits<I>::max();
    };
    for (int64_t i = 0; i < p_.before; ++i) { neutral(i); }
    for (int64_t i = p_.before + p_.axes[2].in; i < p_.LineLength(); ++i) { neutral(i); }
    return b;
  }

  void RunLine(int64_t plane, int64_t line, const Buffers& b) const {
    const auto& loops = LoopsFor<T>();
    const T* image = call_.inputs[0].Data<T>() + plane * p_.InPixels();
    const PoolRange& depth = p_.axes[0].ranges[static_cast<size_t>(line / p_.axes[1].out)];
    const PoolRange& height = p_.axes[1].ranges[static_cast<size_t>(line % p_.axes[1].out)];
    const int64_t width = p_.axes[2].in;
    if (width <= kNarrow && p_.fixed && depth.count == 1 && height.count == 2 &&
        p_.line.kernel == 2 && p_.before + p_.after == 0) {
      return RunPairs(image, (depth.begin * p_.axes[1].in + height.begin) * width, plane, line);
    }
    T* best = b.best + p_.before;
    I* index = b.index + p_.before;
    if (p_.fixed && depth.count * height.count == 1) {
      const int64_t row = (depth.begin * p_.axes[1].in + height.begin) * width;
      return RunRow(plane, line, row, b);
    }
    bool first = true;
    for (int64_t i = 0; i < depth.count; ++i) {
      const int64_t d = depth.begin + i * p_.axes[0].step;
      for (int64_t j = 0; j < height.count; ++j) {
        const int64_t row = (d * p_.axes[1].in + height.begin + j * p_.axes[1].step) * width;
        (first ? loops.max_start : loops.max_merge)(image + row, static_cast<I>(row), best, index,
                                                    width);
        first = false;
      }
    }
    const int64_t offset = (plane * p_.axes[0].out * p_.axes[1].out + line) * p_.axes[2].out;
    T* out = call_.outputs[0].Data<T>() + offset;
    int64_t* where = call_.outputs[1].Data<int64_t>() + offset;
    if (first) { return Nothing(out, where); }
    if (p_.fixed) {
      loops.max_across(b.best, b.index, p_.line, out, b.out_index);
    } else {
      AcrossRanges(best, index, out, b.out_index);
    }
    // A window of padding alone chooses nothing; its index must still be one of the image.
    constexpr I kNothing = std::numeric_limits<I>::max();
    for (int64_t o = 0; o < p_.axes[2].out; ++o) {
      where[o] = b.out_index[o] == kNothing ? 0 : b.out_index[o];
    }
  }

  // Windows of two by two, all inside, whose first row begins at `row` of the plane.
  void RunPairs(const T* image, int64_t row, int64_t plane, int64_t line) const {
    const int64_t offset = (plane * p_.axes[0].out * p_.axes[1].out + line) * p_.axes[2].out;
    T* out = call_.outputs[0].Data<T>() + offset;
    int64_t* where = call_.outputs[1].Data<int64_t>() + offset;
    const int64_t right = p_.line.dilation;
    const int64_t below = p_.axes[1].step * p_.axes[2].in;
    const T* upper = image + row;
    const T* lower = upper + below;
    const int64_t stride = p_.line.stride;
    for (int64_t o = 0; o < p_.axes[2].out; ++o) {
      const int64_t at = o * stride;
      // As in MaxMerge: the first of equals, the last NaN; without branches that cannot be foretold.
      const auto takes = [](T a, T b) { return static_cast<int64_t>((b > a) | (b != b)); };
      const T a = upper[at], b = upper[at + right], c = lower[at], d = lower[at + right];
      const int64_t u = takes(a, b);
      const int64_t l = takes(c, d);
      const T top = u != 0 ? b : a;
      const T bottom = l != 0 ? d : c;
      const int64_t s = takes(top, bottom);
      out[o] = s != 0 ? bottom : top;
      where[o] = row + at + (s != 0 ? below + l * right : u * right);
    }
  }

  // The windows of a line lie in one row, which begins at `row` of the plane.
  void RunRow(int64_t plane, int64_t line, int64_t row, const Buffers& b) const {
    const int64_t width = p_.axes[2].in;
    std::memcpy(b.best + p_.before, call_.inputs[0].Data<T>() + plane * p_.InPixels() + row,
                sizeof(T) * static_cast<size_t>(width));
    const int64_t offset = (plane * p_.axes[0].out * p_.axes[1].out + line) * p_.axes[2].out;
    int64_t* where = call_.outputs[1].Data<int64_t>() + offset;
    const LineWindows& w = p_.line;
    LoopsFor<T>().max_line(b.best, w, call_.outputs[0].Data<T>() + offset, b.out_index);
    const int64_t start = row - p_.before;
    for (int64_t o = 0; o < w.out; ++o) {
      where[o] = start + o * w.stride + b.out_index[o] * w.dilation;
    }
    // Padding before the data is never chosen, not even where all is minus infinity.
    for (int64_t o = 0; o < w.out && o * w.stride < p_.before; ++o) {
      const PoolRange& range = p_.axes[2].ranges[static_cast<size_t>(o)];
      const int64_t first = range.count > 0 ? range.begin : 0;
      where[o] = std::max(where[o], row + first);
    }
  }

  void Nothing(T* out, int64_t* where) const {
    for (int64_t o = 0; o < p_.axes[2].out; ++o) {
      out[o] = -std::numeric_limits<T>::infinity();
      where[o] = 0;
    }
  }

  void AcrossRanges(const T* best, const I* index, T* out, I* out_index) const {
    for (int64_t o = 0; o < p_.axes[2].out; ++o) {
      const PoolRange& range = p_.axes[2].ranges[static_cast<size_t>(o)];
      const LineWindows one{1, range.count, 1, 1};
      LoopsFor<T>().max_across(best + range.begin, index + range.begin, one, out + o,
                               out_index + o);
    }
  }

  const PoolPlan& p_;
  const KernelCall& call_;
  const size_t line_bytes_;
};

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

enum class Job { kMax, kAverage, kAverageGrad };

template <Job job, bool kAdaptive>
size_t Lines(const KernelCall& call) {
  const ArrayView& image = job == Job::kAverageGrad ? call.outputs[0] : call.inputs[0];
  const ArrayView& pooled = job == Job::kAverageGrad ? call.inputs[0] : call.outputs[0];
  return LineBytes(call, image, pooled, kAdaptive);
}

template <Job job, bool kAdaptive>
size_t Scratch(const KernelCall& call) {
  return DenseCall::ScratchBytes(call) +
         Lines<job, kAdaptive>(call) * static_cast<size_t>(std::max(call.threads, 1));
}

template <typename T, Job job, bool kAdaptive>
void RunAs(const KernelCall& call) {
  const bool gradient = job == Job::kAverageGrad;
  const PoolPlan plan = PlanOf<kAdaptive>(call, gradient ? call.outputs[0] : call.inputs[0],
                                          gradient ? call.inputs[0] : call.outputs[0]);
  const size_t lines = Lines<job, kAdaptive>(call);
  switch (job) {
    case Job::kMax: MaxPool<T>(plan, call, lines).Run(); break;
    case Job::kAverage: AvgPool<T>(plan, call, lines).Forward(); break;
    case Job::kAverageGrad: AvgPool<T>(plan, call, lines).Backward(); break;
  }
}

template <Job job, bool kAdaptive>
Maybe<void> Run(const KernelCall& call) {
  return RunDense(call, [](const KernelCall& dense) -> Maybe<void> {
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
  double bytes = BytesOf(call.inputs[0]) + BytesOf(call.outputs[0]);
  if (job == Job::kMax) { bytes += BytesOf(call.outputs[1]); }
  const auto elements = static_cast<double>(call.inputs[0].Count() + call.outputs[0].Count());
  // A plane's average is a sum of what lies side by side, and its gradient a fill.
  const ArrayView& pooled = job == Job::kAverageGrad ? call.inputs[0] : call.outputs[0];
  const bool global = kAdaptive && job != Job::kMax && pooled.ndim > 2 &&
                      pooled.Count() == pooled.shape[0] * pooled.shape[1];
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

ONEFLOW_REGISTER_POOL(max_pool, Job::kMax, false);
ONEFLOW_REGISTER_POOL(avg_pool, Job::kAverage, false);
ONEFLOW_REGISTER_POOL(avg_pool_grad, Job::kAverageGrad, false);
ONEFLOW_REGISTER_POOL(adaptive_max_pool, Job::kMax, true);
ONEFLOW_REGISTER_POOL(adaptive_avg_pool, Job::kAverage, true);
ONEFLOW_REGISTER_POOL(adaptive_avg_pool_grad, Job::kAverageGrad, true);

}  // namespace cpu
}  // namespace oneflow
