// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/norm/fused_norm_loops.h"

#include "oneflow/kernels/cpu/norm/run_lanes.h"
#include "oneflow/kernels/cpu/stream_line.h"

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

// out = value(at): past the caches, or through them.
template <typename T, typename Value>
ONEFLOW_RUN_INLINE void Fill(T* out, const Runs& runs, bool stream, const Value& value) {
  if (!stream) { return MapRuns(out, runs, value); }
  for (int64_t r = 0; r < runs.count; ++r) {
    const int64_t first = r * runs.step;
    StreamAll(out + first, runs.n, [&](int64_t i) { return value(Single<T>{first + i}); });
  }
}

template <bool kAdds, bool kRelu, typename T>
ONEFLOW_RUN_INLINE void RunAs(const T* x, const T* addend, T* out, const Runs& runs, T mean,
                              T scale, T shift, bool stream) {
  Fill(out, runs, stream, [=](auto at) {
    const auto y = (at(x) - mean) * scale + shift;
    const auto sum = kAdds ? y + at(kAdds ? addend : x) : y;
    decltype(sum + sum) zero{};
    return kRelu ? (sum <= zero ? zero : sum) : sum;
  });
}

template <typename T>
void Run(const T* x, const T* addend, T* out, const Runs& runs, T mean, T scale, T shift, bool relu,
         bool stream) {
  if (addend != nullptr) {
    return relu ? RunAs<true, true>(x, addend, out, runs, mean, scale, shift, stream)
                : RunAs<true, false>(x, addend, out, runs, mean, scale, shift, stream);
  }
  return relu ? RunAs<false, true>(x, addend, out, runs, mean, scale, shift, stream)
              : RunAs<false, false>(x, addend, out, runs, mean, scale, shift, stream);
}

// The gradient at a place, with or without what else arrives, and what masks it.
template <bool kMore, bool kMasked, typename T>
struct GradientAt {
  FusedGradient<T> of;

  template <typename At>
  ONEFLOW_RUN_INLINE auto operator()(At at) const {
    auto g = at(of.dy);
    if constexpr (kMore) { g = g + at(of.more); }
    if constexpr (kMasked) {
      decltype(g) zero{};
      g = at(of.result) > zero ? g : zero;
    }
    return g;
  }
};

// Calls body(g), where g(at) is the gradient.
template <typename T, typename Body>
ONEFLOW_RUN_INLINE void WithGradient(const FusedGradient<T>& of, const Body& body) {
  if (of.result == nullptr) {
    return of.more == nullptr ? body(GradientAt<false, false, T>{of})
                              : body(GradientAt<true, false, T>{of});
  }
  return of.more == nullptr ? body(GradientAt<false, true, T>{of})
                            : body(GradientAt<true, true, T>{of});
}

template <typename T>
void Sums(const FusedGradient<T>& of, const T* x, T* kept, const Runs& runs, T mean, double* sum_g,
          double* sum_gx) {
  double sums[2];
  const auto ask = [=](int64_t i) {
    Prefetch<0>(of.dy + i, runs.n);
    Prefetch<0>(x + i, runs.n);
    if (of.more != nullptr) { Prefetch<0>(of.more + i, runs.n); }
    if (of.result != nullptr) { Prefetch<0>(of.result + i, runs.n); }
  };
  WithGradient(of, [&](auto gradient) __attribute__((always_inline)) {
    const auto sum = [=](auto at, auto g, auto* terms) __attribute__((always_inline)) {
      terms[0] = g;
      terms[1] = g * (at(x) - mean);
    };
    if (kept == nullptr) {
      return SumRuns<T, 2>(
          runs, [=](auto at, auto* terms) { sum(at, gradient(at), terms); }, ask, sums);
    }
    SumRuns<T, 2>(
        runs,
        [=](auto at, auto* terms) {
          const auto g = gradient(at);
          at.Store(kept, g);
          sum(at, g, terms);
        },
        ask, sums);
  });
  *sum_g = sums[0];
  *sum_gx = sums[1];
}

template <typename T>
void Backward(const FusedGradient<T>& of, const T* x, T* dx, const Runs& runs, T mean, T m, T k,
              T scale, bool stream) {
  WithGradient(of, [&](auto gradient) __attribute__((always_inline)) {
    Fill(dx, runs, stream,
         [=](auto at) { return ((gradient(at) - m) - (at(x) - mean) * k) * scale; });
  });
}

constexpr FusedNormLoopTable kLoops = {{&Run<float>, &Sums<float>, &Backward<float>},
                                       {&Run<double>, &Sums<double>, &Backward<double>}};

}  // namespace

const FusedNormLoopTable& GetFusedNormLoopTable() { return kLoops; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
