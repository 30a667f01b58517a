// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/norm/fused_norm_loops.h"

#include "oneflow/kernels/cpu/lane_sums.h"
#include "oneflow/kernels/cpu/stream_line.h"

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

#define ONEFLOW_INLINE inline __attribute__((always_inline))

// out[i] = f(i).
template <typename T, typename F>
ONEFLOW_INLINE void Fill(T* out, int64_t n, bool stream, F f) {
  if (stream) { return StreamAll(out, n, f); }
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) { out[i] = f(i); }
}

template <bool kAdds, bool kRelu, typename T>
ONEFLOW_INLINE void RunAs(const T* x, const T* addend, T* out, int64_t n, T mean, T scale, T shift,
                          bool stream) {
  Fill(out, n, stream, [=](int64_t i) {
    const T y = (x[i] - mean) * scale + shift;
    const T sum = kAdds ? y + addend[i] : y;
    return kRelu && sum <= T(0) ? T(0) : sum;
  });
}

template <typename T>
void Run(const T* x, const T* addend, T* out, int64_t n, T mean, T scale, T shift, bool relu,
         bool stream) {
  if (addend != nullptr) {
    return relu ? RunAs<true, true>(x, addend, out, n, mean, scale, shift, stream)
                : RunAs<true, false>(x, addend, out, n, mean, scale, shift, stream);
  }
  return relu ? RunAs<false, true>(x, addend, out, n, mean, scale, shift, stream)
              : RunAs<false, false>(x, addend, out, n, mean, scale, shift, stream);
}

// Calls body(g), where g(i) is element i of the gradient.
template <typename T, typename Body>
ONEFLOW_INLINE void WithGradient(const FusedGradient<T>& of, const Body& body) {
  const T* dy = of.dy;
  const T* more = of.more;
  const T* result = of.result;
  if (result == nullptr) {
    if (more == nullptr) {
      return body([=](int64_t i) { return dy[i]; });
    }
    return body([=](int64_t i) { return dy[i] + more[i]; });
  }
  if (more == nullptr) {
    return body([=](int64_t i) {
      const T g = dy[i];
      return result[i] > T(0) ? g : T(0);
    });
  }
  return body([=](int64_t i) {
    const T g = dy[i] + more[i];
    return result[i] > T(0) ? g : T(0);
  });
}

template <typename T>
void Sums(const FusedGradient<T>& of, const T* x, T* kept, int64_t n, T mean, double* sum_g,
          double* sum_gx) {
  if (kept != nullptr) {
    WithGradient(of, [=](auto g) { Fill(kept, n, false, g); });
    return Sums<T>({kept, nullptr, nullptr}, x, nullptr, n, mean, sum_g, sum_gx);
  }
  WithGradient(of, [=](auto g) {
    SumsOfTerms<T>(n, sum_g, sum_gx, [=](int64_t i, T* a, T* b) {
      const T value = g(i);
      *a = value;
      *b = value * (x[i] - mean);
    });
  });
}

template <typename T>
void Backward(const FusedGradient<T>& of, const T* x, T* dx, int64_t n, T mean, T m, T k, T scale,
              bool stream) {
  WithGradient(of, [=](auto g) {
    Fill(dx, n, stream, [=](int64_t i) { return ((g(i) - m) - (x[i] - mean) * k) * scale; });
  });
}

constexpr FusedNormLoopTable kLoops = {{&Run<float>, &Sums<float>, &Backward<float>},
                                       {&Run<double>, &Sums<double>, &Backward<double>}};

}  // namespace

const FusedNormLoopTable& GetFusedNormLoopTable() { return kLoops; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
