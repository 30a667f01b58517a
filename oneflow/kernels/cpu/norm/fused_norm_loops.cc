// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/norm/fused_norm_loops.h"

#include "oneflow/kernels/cpu/norm/run_lanes.h"
#include "oneflow/kernels/cpu/stream_line.h"

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

template <typename T, typename Value>
ONEFLOW_RUN_INLINE void StreamRun(T* out, int64_t first, int64_t n, const Value& value) {
  StreamAll(out + first, n, [&](int64_t i) { return value(Single<T>{first + i}); });
}

// A line of bfloat16 is two vectors. Only wide registers write one at a time: without them, through the caches.
template <typename T, typename Value>
ONEFLOW_RUN_INLINE void StreamRun(BFloat16* out, int64_t first, int64_t n, const Value& value) {
  int64_t i = first;
#if defined(__AVX512F__)
  constexpr int64_t kLine = 32;
  for (; i + kLine <= first + n; i += kLine) {
    const __m256i low = NarrowLanes((__m512)value(Whole<T>{i}));
    const __m256i high = NarrowLanes((__m512)value(Whole<T>{i + kLine / 2}));
    _mm512_stream_si512(reinterpret_cast<__m512i*>(out + i),
                        _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1));
  }
#endif
#pragma GCC ivdep
  for (; i < first + n; ++i) {
    const Single<T> at{i};
    at.Store(out, value(at));
  }
}

// out = value(at): past the caches, or through them.
template <typename T, typename E, typename Value>
ONEFLOW_RUN_INLINE void Fill(E* out, const Runs& runs, bool stream, const Value& value) {
  if (!stream) { return MapRuns<T>(out, runs, value); }
  for (int64_t r = 0; r < runs.count; ++r) { StreamRun<T>(out, r * runs.step, runs.n, value); }
}

template <bool kAdds, bool kRelu, typename T, typename E>
ONEFLOW_RUN_INLINE void RunAs(const E* x, const E* addend, E* out, const Runs& runs, T mean,
                              T scale, T shift, bool stream) {
  Fill<T>(out, runs, stream, [=](auto at) {
    const auto y = (at(x) - mean) * scale + shift;
    const auto sum = kAdds ? at.template As<E>(y) + at(kAdds ? addend : x) : y;
    decltype(sum + sum) zero{};
    return kRelu ? (sum <= zero ? zero : sum) : sum;
  });
}

template <typename T, typename E>
void Run(const E* x, const E* addend, E* out, const Runs& runs, T mean, T scale, T shift, bool relu,
         bool stream) {
  if (addend != nullptr) {
    return relu ? RunAs<true, true>(x, addend, out, runs, mean, scale, shift, stream)
                : RunAs<true, false>(x, addend, out, runs, mean, scale, shift, stream);
  }
  return relu ? RunAs<false, true>(x, addend, out, runs, mean, scale, shift, stream)
              : RunAs<false, false>(x, addend, out, runs, mean, scale, shift, stream);
}

// The gradient at a place, with or without what else arrives, and what masks it.
template <bool kMore, bool kMasked, typename E>
struct GradientAt {
  FusedGradient<E> of;

  template <typename At>
  ONEFLOW_RUN_INLINE auto operator()(At at) const {
    auto g = at(of.dy);
    if constexpr (kMore) { g = at.template As<E>(g + at(of.more)); }
    if constexpr (kMasked) {
      decltype(g) zero{};
      g = at(of.result) > zero ? g : zero;
    }
    return g;
  }
};

// Calls body(g), where g(at) is the gradient.
template <typename E, typename Body>
ONEFLOW_RUN_INLINE void WithGradient(const FusedGradient<E>& of, const Body& body) {
  if (of.result == nullptr) {
    return of.more == nullptr ? body(GradientAt<false, false, E>{of})
                              : body(GradientAt<true, false, E>{of});
  }
  return of.more == nullptr ? body(GradientAt<false, true, E>{of})
                            : body(GradientAt<true, true, E>{of});
}

template <typename T, typename E>
void Sums(const FusedGradient<E>& of, const E* x, E* kept, const Runs& runs, T mean, double* sum_g,
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
      return SumRuns<T, 2, E>(
          runs, [=](auto at, auto* terms) { sum(at, gradient(at), terms); }, ask, sums);
    }
    SumRuns<T, 2, E>(
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

template <typename T, typename E>
void Backward(const FusedGradient<E>& of, const E* x, E* dx, const Runs& runs, T mean, T m, T k,
              T scale, bool stream) {
  WithGradient(of, [&](auto gradient) __attribute__((always_inline)) {
    Fill<T>(dx, runs, stream,
            [=](auto at) { return ((gradient(at) - m) - (at(x) - mean) * k) * scale; });
  });
}

template <typename T, typename E>
constexpr FusedNormLoops<T, E> LoopsOf() {
  return {&Run<T, E>, &Sums<T, E>, &Backward<T, E>};
}

constexpr FusedNormLoopTable kLoops = {LoopsOf<float, float>(), LoopsOf<double, double>(),
                                       LoopsOf<float, BFloat16>()};

}  // namespace

const FusedNormLoopTable& GetFusedNormLoopTable() { return kLoops; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
