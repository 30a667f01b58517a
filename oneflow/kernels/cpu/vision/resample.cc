// The kernels resample and resample_grad: nearest, linear and cubic interpolation to another size.
//
// Interpolation is separable: the rows that a line of results needs are blended into one line over
// the input's width, and the results are gathered from it.
#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs_spatial.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/dense_call.h"
#include "oneflow/kernels/cpu/thread_index.h"
#include "oneflow/kernels/cpu/vision/resample_loops.h"
#include "oneflow/kernels/cpu/vision/taps.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

constexpr int64_t kGrainElements = 1 << 15;

template <typename T>
const ResampleLoopsOf<T>& LoopsFor() {
  if constexpr (std::is_same_v<T, float>) {
    return GetResampleLoops().single;
  } else {
    return GetResampleLoops().wide;
  }
}

// One line of the input's width for each thread.
size_t LineBytes(int64_t width) { return (static_cast<size_t>(width) * 8 + 63) / 64 * 64; }

template <typename T>
class Resample {
 public:
  Resample(const KernelCall& call, const ArrayView& in, const ArrayView& out) : call_(call) {
    const auto& attrs = call.GetAttrs<UpsampleAttrs>();
    const int spatial = in.ndim - 2;
    planes_ = in.shape[0] * in.shape[1];
    for (int d = 0; d < 3; ++d) {
      const int s = d - (3 - spatial);
      axes_[d] = s < 0
                     ? MakeTaps(UpsampleMode::kNearest, false, 1, 1, 0, true)
                     : MakeTaps(attrs.mode, attrs.align_corners, in.shape[s + 2], out.shape[s + 2],
                                attrs.scales.values[s], std::is_same_v<T, float>);
    }
    weights_.assign(axes_[2].weight.begin(), axes_[2].weight.end());
    line_taps_ = {axes_[2].taps, axes_[2].out, axes_[2].index.data(), weights_.data()};
    in_plane_ = axes_[0].in * axes_[1].in * axes_[2].in;
    lines_ = axes_[0].out * axes_[1].out;
  }

  void Forward() const {
    const int64_t work = axes_[2].in + axes_[2].out * axes_[2].taps;
    ParallelFor(call_.threads, planes_ * lines_, std::max<int64_t>(1, kGrainElements / work),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) { ForwardLine(i, i > begin); }
                });
  }

  void Backward() const {
    const int64_t work = std::max<int64_t>(1, in_plane_ + lines_ * axes_[2].out);
    ParallelFor(call_.threads, planes_, std::max<int64_t>(1, kGrainElements / work),
                [&](int64_t begin, int64_t end) {
                  for (int64_t plane = begin; plane < end; ++plane) { BackwardPlane(plane); }
                });
  }

 private:
  T* Line() const {
    char* at = static_cast<char*>(call_.scratch) +
               LineBytes(axes_[2].in) * static_cast<size_t>(ThreadIndex());
    return reinterpret_cast<T*>(at);
  }

  // Calls body(offset of a row in the plane, its weight) for each row of a line of results.
  template <typename Body>
  void ForEachRow(int64_t line, const Body& body) const {
    const int64_t d = line / axes_[1].out;
    const int64_t h = line % axes_[1].out;
    for (int i = 0; i < axes_[0].taps; ++i) {
      for (int j = 0; j < axes_[1].taps; ++j) {
        const double weight = axes_[0].WeightAt(i, d) * axes_[1].WeightAt(j, h);
        if (weight == 0) { continue; }
        const int64_t row = int64_t{axes_[0].IndexAt(i, d)} * axes_[1].in + axes_[1].IndexAt(j, h);
        body(row * axes_[2].in, static_cast<T>(weight));
      }
    }
  }

  bool RepeatsLineBefore(int64_t line) const {
    if (axes_[0].taps != 1 || line % axes_[1].out == 0) { return false; }
    const int64_t h = line % axes_[1].out;
    return axes_[1].IndexAt(0, h) == axes_[1].IndexAt(0, h - 1);
  }

  void ForwardLine(int64_t i, bool has_line_before) const {
    const auto& loops = LoopsFor<T>();
    const int64_t line = i % lines_;
    const T* plane = call_.inputs[0].Data<T>() + i / lines_ * in_plane_;
    T* out = call_.outputs[0].Data<T>() + i * axes_[2].out;
    if (axes_[1].taps == 1) {
      if (has_line_before && RepeatsLineBefore(line)) {
        std::memcpy(out, out - axes_[2].out, sizeof(T) * static_cast<size_t>(axes_[2].out));
        return;
      }
      ForEachRow(line, [&](int64_t row, T) { loops.gather(plane + row, line_taps_, out); });
      return;
    }
    T* blended = Line();
    bool first = true;
    ForEachRow(line, [&](int64_t row, T weight) {
      (first ? loops.scale : loops.add_scaled)(plane + row, weight, blended, axes_[2].in);
      first = false;
    });
    loops.gather(blended, line_taps_, out);
  }

  void BackwardPlane(int64_t p) const {
    const auto& loops = LoopsFor<T>();
    T* plane = call_.outputs[0].Data<T>() + p * in_plane_;
    std::memset(plane, 0, sizeof(T) * static_cast<size_t>(in_plane_));
    for (int64_t line = 0; line < lines_; ++line) {
      const T* grad = call_.inputs[0].Data<T>() + (p * lines_ + line) * axes_[2].out;
      if (axes_[1].taps == 1) {
        ForEachRow(line, [&](int64_t row, T) { loops.scatter(grad, line_taps_, plane + row); });
        continue;
      }
      T* blended = Line();
      std::memset(blended, 0, sizeof(T) * static_cast<size_t>(axes_[2].in));
      loops.scatter(grad, line_taps_, blended);
      ForEachRow(line, [&](int64_t row, T weight) {
        loops.add_scaled(blended, weight, plane + row, axes_[2].in);
      });
    }
  }

  const KernelCall& call_;
  int64_t planes_ = 0;
  AxisTaps axes_[3];
  std::vector<T> weights_;  // of the innermost axis
  LineTaps<T> line_taps_{};
  int64_t in_plane_ = 0;
  int64_t lines_ = 0;  // of results in a plane
};

template <typename T, bool kGradient>
void RunAs(const KernelCall& call) {
  if (kGradient) {
    Resample<T>(call, call.outputs[0], call.inputs[0]).Backward();
  } else {
    Resample<T>(call, call.inputs[0], call.outputs[0]).Forward();
  }
}

template <bool kGradient>
Maybe<void> Run(const KernelCall& call) {
  return RunDense(call, [](const KernelCall& dense) -> Maybe<void> {
    if (dense.outputs[0].Count() == 0) { return Ok(); }
    if (dense.outputs[0].dtype == DataType::kDouble) {
      RunAs<double, kGradient>(dense);
    } else {
      RunAs<float, kGradient>(dense);
    }
    return Ok();
  });
}

template <bool kGradient>
size_t Scratch(const KernelCall& call) {
  const ArrayView& in = kGradient ? call.outputs[0] : call.inputs[0];
  return DenseCall::ScratchBytes(call) +
         LineBytes(in.shape[in.ndim - 1]) * static_cast<size_t>(std::max(call.threads, 1));
}

double Cost(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<UpsampleAttrs>();
  const double taps = attrs.mode == UpsampleMode::kNearest  ? 1.0
                      : attrs.mode == UpsampleMode::kLinear ? 2.0
                                                            : 4.0;
  const auto elements = static_cast<double>(call.inputs[0].Count() + call.outputs[0].Count());
  return 300.0 + elements * taps * 0.4 +
         MemoryCostNs(BytesOf(call.inputs[0]) + BytesOf(call.outputs[0]));
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(resample, {"resample.cpu.vector", &Run<false>, &AcceptOneFloatingDtype,
                                   &Cost, &Scratch<false>});
ONEFLOW_REGISTER_KERNEL(resample_grad, {"resample_grad.cpu.vector", &Run<true>,
                                        &AcceptOneFloatingDtype, &Cost, &Scratch<true>});

}  // namespace cpu
}  // namespace oneflow
