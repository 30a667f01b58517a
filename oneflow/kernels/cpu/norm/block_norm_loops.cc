// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/norm/block_norm_loops.h"

#include "oneflow/kernels/cpu/stream_line.h"
#include "oneflow/kernels/cpu/vector_width.h"

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

#define ONEFLOW_INLINE inline __attribute__((always_inline))

// Some of a pixel's 16 numbers: all of them where registers are that wide.
typedef float Lanes __attribute__((vector_size(kVectorBytes)));
typedef int32_t Bits __attribute__((vector_size(kVectorBytes)));
constexpr int64_t kPixel = 16;
constexpr int64_t kLanes = kVectorLanes<float>;
constexpr int kSums = 4;  // at once, since an addition takes as many cycles

ONEFLOW_INLINE Lanes Load(const float* from) {
  Lanes lanes;
  __builtin_memcpy(&lanes, from, sizeof(lanes));
  return lanes;
}

ONEFLOW_INLINE void Store(float* to, const Lanes& lanes) {
  __builtin_memcpy(to, &lanes, sizeof(lanes));
}

ONEFLOW_INLINE void Put(float* to, const Lanes& lanes, bool stream) {
#if defined(__AVX512F__)
  if (stream) { return _mm512_stream_ps(to, reinterpret_cast<const __m512&>(lanes)); }
#elif defined(__AVX2__)
  if (stream) { return _mm256_stream_ps(to, reinterpret_cast<const __m256&>(lanes)); }
#elif defined(__x86_64__)
  if (stream) { return _mm_stream_ps(to, reinterpret_cast<const __m128&>(lanes)); }
#endif
  Store(to, lanes);
}

// The number where the condition holds, else 0.
ONEFLOW_INLINE Lanes Where(const Bits& holds, const Lanes& lanes) {
  return reinterpret_cast<Lanes>(reinterpret_cast<Bits>(lanes) & holds);
}

// Calls body(first lane) for each part of a pixel.
template <typename Body>
ONEFLOW_INLINE void ForLanes(const Body& body) {
  for (int64_t lane = 0; lane < kPixel; lane += kLanes) { body(lane); }
}

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

void Moments(const float* x, int64_t pixels, float* mean, float* squares) {
  ForLanes([=](int64_t lane) {
    const float* from = x + lane;
    const Lanes sum = SumOver(pixels, [=](int64_t i) { return Load(from + i * kPixel); });
    const Lanes center = sum / static_cast<float>(pixels);
    Store(mean + lane, center);
    Store(squares + lane, SumOver(pixels, [=](int64_t i) {
            const Lanes d = Load(from + i * kPixel) - center;
            return d * d;
          }));
  });
}

template <bool kAdds, bool kRelu, bool kStream>
ONEFLOW_INLINE void RunAs(const float* x, const float* addend, float* out, int64_t pixels,
                          const float* means, const float* scales, const float* shifts) {
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

template <bool kStream>
void RunTo(const float* x, const float* addend, float* out, int64_t pixels, const float* mean,
           const float* scale, const float* shift, bool relu) {
  if (addend != nullptr) {
    return relu ? RunAs<true, true, kStream>(x, addend, out, pixels, mean, scale, shift)
                : RunAs<true, false, kStream>(x, addend, out, pixels, mean, scale, shift);
  }
  return relu ? RunAs<false, true, kStream>(x, addend, out, pixels, mean, scale, shift)
              : RunAs<false, false, kStream>(x, addend, out, pixels, mean, scale, shift);
}

void Run(const float* x, const float* addend, float* out, int64_t pixels, const float* mean,
         const float* scale, const float* shift, bool relu, bool stream) {
  return stream ? RunTo<true>(x, addend, out, pixels, mean, scale, shift, relu)
                : RunTo<false>(x, addend, out, pixels, mean, scale, shift, relu);
}

// ---- backward -----------------------------------------------------------------------------------

// Calls body(g), where g(at) is the gradient at an offset.
template <typename Body>
ONEFLOW_INLINE void WithGradient(const FusedGradient<float>& of, const Body& body) {
  const float* dy = of.dy;
  const float* more = of.more;
  const float* result = of.result;
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

template <bool kKeeps, typename G>
ONEFLOW_INLINE void SumStretch(const G& g, const float* x, float* kept, int64_t begin, int64_t end,
                               const Lanes& mean, double* sum_g, double* sum_gx) {
  Lanes a[kSums] = {}, b[kSums] = {};
  const auto add = [&](int s, int64_t at) __attribute__((always_inline)) {
    const Lanes value = g(at);
    if (kKeeps) { Store(kept + at, value); }
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

template <bool kKeeps>
void SumsAs(const FusedGradient<float>& of, const float* x, float* kept, int64_t pixels,
            const float* mean, double* sum_g, double* sum_gx) {
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

void Sums(const FusedGradient<float>& of, const float* x, float* kept, int64_t pixels,
          const float* mean, double* sum_g, double* sum_gx) {
  return kept == nullptr ? SumsAs<false>(of, x, kept, pixels, mean, sum_g, sum_gx)
                         : SumsAs<true>(of, x, kept, pixels, mean, sum_g, sum_gx);
}

template <bool kStream>
void BackwardTo(const FusedGradient<float>& of, const float* x, float* dx, int64_t pixels,
                const float* means, const float* ms, const float* ks, const float* scales) {
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

void Backward(const FusedGradient<float>& of, const float* x, float* dx, int64_t pixels,
              const float* mean, const float* m, const float* k, const float* scale, bool stream) {
  return stream ? BackwardTo<true>(of, x, dx, pixels, mean, m, k, scale)
                : BackwardTo<false>(of, x, dx, pixels, mean, m, k, scale);
}

constexpr BlockNormLoops kLoops = {&Moments, &Run, &Sums, &Backward};

}  // namespace

const BlockNormLoops& GetBlockNormLoops() { return kLoops; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
