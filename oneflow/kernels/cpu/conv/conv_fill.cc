#include "oneflow/kernels/cpu/conv/conv_fill.h"

#include <algorithm>
#include <cstring>

#include "oneflow/device/cpu/parallel.h"

namespace oneflow {
namespace cpu {

namespace {

// bfloat16 is the upper half of float32.
struct Bfloat16 {
  uint16_t bits;
  operator float() const {
    const uint32_t wide = static_cast<uint32_t>(bits) << 16;
    float value;
    std::memcpy(&value, &wide, sizeof(value));
    return value;
  }
  explicit Bfloat16(float value) {
    uint32_t wide;
    std::memcpy(&wide, &value, sizeof(wide));
    if (value != value) {
      bits = static_cast<uint16_t>(wide >> 16 | 0x40);
    } else {
      bits = static_cast<uint16_t>((wide + 0x7fff + (wide >> 16 & 1)) >> 16);
    }
  }
};

int64_t PixelsOf(const ArrayView& out) {
  int64_t pixels = 1;
  for (int d = 2; d < out.ndim; ++d) { pixels *= out.shape[d]; }
  return pixels;
}

// Wide: what sums are taken in.
template <typename T, typename Wide>
void AddAs(const ArrayView& out, const ArrayView& bias, int threads) {
  const int64_t channels = out.shape[1];
  const int64_t pixels = PixelsOf(out);
  const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(pixels, 1));
  ParallelFor(threads, out.shape[0] * channels, grain, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const Wide value = static_cast<Wide>(bias.Data<T>()[plane % channels]);
      T* to = out.Data<T>() + plane * pixels;
      for (int64_t i = 0; i < pixels; ++i) { to[i] = T(static_cast<Wide>(to[i]) + value); }
    }
  });
}

}  // namespace

void AddBias(const ArrayView& out, const ArrayView& bias, int threads) {
  switch (out.dtype) {
    case DataType::kFloat: return AddAs<float, float>(out, bias, threads);
    case DataType::kDouble: return AddAs<double, double>(out, bias, threads);
    default: return AddAs<Bfloat16, float>(out, bias, threads);
  }
}

void FillWithBias(const ArrayView& out, const ArrayView* bias) {
  const size_t bytes = static_cast<size_t>(out.Count()) * SizeOf(out.dtype);
  if (bytes == 0) { return; }
  std::memset(out.data, 0, bytes);
  if (bias != nullptr) { AddBias(out, *bias, 1); }
}

}  // namespace cpu
}  // namespace oneflow
