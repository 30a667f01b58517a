// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/norm/block_norm_loops.h"

#include "oneflow/kernels/cpu/block_lanes.h"

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

constexpr int kSums = 4;  // at once, since an addition takes as many cycles

// ---- forward ------------------------------------------------------------------------------------

// The sum of f(i) over pixels.
template <typename F>
ONEFLOW_INLINE Lanes SumOver(int64_t pixels, const F& f) {
  Lanes sums[kSums] = {};
  int64_t i = 0;
  for (; i + kSums <= pixels; i += kSums) {
    for (int s = 0; s < kSums; ++s) { sums[s] += f(i + s); }
  }
  for (; i < pixels; ++i) { sums[0] += f(i); }
  return (sums[0] + sums[2]) + (sums[1] + sums[3]);
}

template <typename T>
void Moments(const T* x, int64_t pixels, float* mean, float* squares) {
  ForLanes([=](int64_t lane) {
    const T* from = x + lane;
    const Lanes sum = SumOver(pixels, [=](int64_t i) { return Load(from + i * kPixel); });
    const Lanes center = sum / static_cast<float>(pixels);
    Store(mean + lane, center);
    Store(squares + lane, SumOver(pixels, [=](int64_t i) {
            const Lanes d = Load(from + i * kPixel) - center;
            return d * d;
          }));
  });
}

template <bool kAdds, bool kRelu, bool kStream, typename T>
ONEFLOW_INLINE void RunAs(const T* x, const T* addend, T* out, int64_t pixels, const float* means,
                          const float* scales, const float* shifts) {
  ForLanes([=](int64_t lane) {
    const Lanes mean = Load(means + lane), scale = Load(scales + lane), shift = Load(shifts + lane);
    for (int64_t at = lane; at < pixels * kPixel; at += kPixel) {
      Lanes y = (Load(x + at) - mean) * scale + shift;
      if (kAdds) { y += Load(addend + at); }
      if (kRelu) { y = Where(~(y <= Lanes{}), y); }
      Put(out + at, y, kStream);
    }
  });
}

template <bool kStream, typename T>
void RunTo(const T* x, const T* addend, T* out, int64_t pixels, const float* mean,
           const float* scale, const float* shift, bool relu) {
  if (addend != nullptr) {
    return relu ? RunAs<true, true, kStream>(x, addend, out, pixels, mean, scale, shift)
                : RunAs<true, false, kStream>(x, addend, out, pixels, mean, scale, shift);
  }
  return relu ? RunAs<false, true, kStream>(x, addend, out, pixels, mean, scale, shift)
              : RunAs<false, false, kStream>(x, addend, out, pixels, mean, scale, shift);
}

template <typename T>
void Run(const T* x, const T* addend, T* out, int64_t pixels, const float* mean, const float* scale,
         const float* shift, bool relu, bool stream) {
  return stream ? RunTo<true>(x, addend, out, pixels, mean, scale, shift, relu)
                : RunTo<false>(x, addend, out, pixels, mean, scale, shift, relu);
}

// ---- backward -----------------------------------------------------------------------------------

// Calls body(g), where g(at) is the gradient at an offset.
template <typename T, typename Body>
ONEFLOW_INLINE void WithGradient(const FusedGradient<T>& of, const Body& body) {
  const T* dy = of.dy;
  const T* more = of.more;
  const T* result = of.result;
  if (result == nullptr) {
    if (more == nullptr) {
      return body([=](int64_t at) { return Load(dy + at); });
    }
    return body([=](int64_t at) { return Load(dy + at) + Load(more + at); });
  }
  if (more == nullptr) {
    return body([=](int64_t at) { return Where(Load(result + at) > Lanes{}, Load(dy + at)); });
  }
  return body([=](int64_t at) {
    return Where(Load(result + at) > Lanes{}, Load(dy + at) + Load(more + at));
  });
}

ONEFLOW_INLINE void AddTo(double* sum, const Lanes* parts) {
  const Lanes all = (parts[0] + parts[2]) + (parts[1] + parts[3]);
  for (int64_t l = 0; l < kLanes; ++l) { sum[l] += static_cast<double>(all[l]); }
}

template <bool kKeeps, typename T, typename G>
ONEFLOW_INLINE void SumStretch(const G& g, const T* x, T* kept, int64_t begin, int64_t end,
                               const Lanes& mean, double* sum_g, double* sum_gx) {
  Lanes a[kSums] = {}, b[kSums] = {};
  const auto add = [&](int s, int64_t at) __attribute__((always_inline)) {
    Lanes value = g(at);
    if (kKeeps) {
      value = AsStored(kept, value);
      Store(kept + at, value);
    }
    a[s] += value;
    b[s] += value * (Load(x + at) - mean);
  };
  int64_t at = begin;
  for (; at + (kSums - 1) * kPixel < end; at += kSums * kPixel) {
    for (int s = 0; s < kSums; ++s) { add(s, at + s * kPixel); }
  }
  for (; at < end; at += kPixel) { add(0, at); }
  AddTo(sum_g, a);
  AddTo(sum_gx, b);
}

template <bool kKeeps, typename T>
void SumsAs(const FusedGradient<T>& of, const T* x, T* kept, int64_t pixels, const float* mean,
            double* sum_g, double* sum_gx) {
  WithGradient(of, [=](auto g) {
    ForLanes([=](int64_t lane) {
      const Lanes center = Load(mean + lane);
      for (int64_t p = 0; p < pixels; p += kBlockStretch) {
        const int64_t last = p + kBlockStretch < pixels ? p + kBlockStretch : pixels;
        SumStretch<kKeeps>(g, x, kept, p * kPixel + lane, last * kPixel + lane, center,
                           sum_g + lane, sum_gx + lane);
      }
    });
  });
}

template <typename T>
void Sums(const FusedGradient<T>& of, const T* x, T* kept, int64_t pixels, const float* mean,
          double* sum_g, double* sum_gx) {
  return kept == nullptr ? SumsAs<false>(of, x, kept, pixels, mean, sum_g, sum_gx)
                         : SumsAs<true>(of, x, kept, pixels, mean, sum_g, sum_gx);
}

template <bool kStream, typename T>
void BackwardTo(const FusedGradient<T>& of, const T* x, T* dx, int64_t pixels, const float* means,
                const float* ms, const float* ks, const float* scales) {
  WithGradient(of, [=](auto g) {
    ForLanes([=](int64_t lane) {
      const Lanes mean = Load(means + lane), m = Load(ms + lane), k = Load(ks + lane);
      const Lanes scale = Load(scales + lane);
      for (int64_t at = lane; at < pixels * kPixel; at += kPixel) {
        Put(dx + at, ((g(at) - m) - (Load(x + at) - mean) * k) * scale, kStream);
      }
    });
  });
}

template <typename T>
void Backward(const FusedGradient<T>& of, const T* x, T* dx, int64_t pixels, const float* mean,
              const float* m, const float* k, const float* scale, bool stream) {
  return stream ? BackwardTo<true>(of, x, dx, pixels, mean, m, k, scale)
                : BackwardTo<false>(of, x, dx, pixels, mean, m, k, scale);
}

template <typename T>
constexpr BlockNormLoops<T> LoopsOf() {
  return {&Moments<T>, &Run<T>, &Sums<T>, &Backward<T>};
}

constexpr BlockNormLoopTable kLoops = {LoopsOf<float>(), LoopsOf<uint16_t>()};

}  // namespace

const BlockNormLoopTable& GetBlockNormLoopTable() { return kLoops; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
