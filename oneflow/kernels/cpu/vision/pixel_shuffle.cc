// The kernels shuffle_pixels and unshuffle_pixels: channels spread over blocks of pixels, and back.
#include <algorithm>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs_spatial.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/dense_call.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

// Elements are moved as bits.
DensePolicy Policy() {
  DensePolicy policy;
  policy.keeps_dtypes = true;
  return policy;
}

// One line of the larger images, and element j of each of its blocks: column j of `fine` lies in
// line `coarse + j * step`.
template <typename T, bool kShuffle>
void MoveLine(T* fine, T* coarse, int64_t step, int64_t width, int64_t block) {
  if (block == 2) {
    T* second = coarse + step;
    for (int64_t x = 0; x < width; ++x) {
      if (kShuffle) {
        fine[2 * x] = coarse[x];
        fine[2 * x + 1] = second[x];
      } else {
        coarse[x] = fine[2 * x];
        second[x] = fine[2 * x + 1];
      }
    }
    return;
  }
  for (int64_t j = 0; j < block; ++j, coarse += step, ++fine) {
    for (int64_t x = 0; x < width; ++x) {
      if (kShuffle) {
        fine[x * block] = coarse[x];
      } else {
        coarse[x] = fine[x * block];
      }
    }
  }
}

// coarse (N, C h w, H, W), fine (N, C, H h, W w).
template <typename T, bool kShuffle>
void Move(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<ShuffleAttrs>();
  const ArrayView& coarse = kShuffle ? call.inputs[0] : call.outputs[0];
  const ArrayView& fine = kShuffle ? call.outputs[0] : call.inputs[0];
  const int64_t height = coarse.shape[2];
  const int64_t width = coarse.shape[3];
  const int64_t plane = height * width;
  const int64_t planes = fine.shape[0] * fine.shape[1];
  const int64_t line = std::max<int64_t>(1, plane * attrs.w);
  // By planes of `fine` and lines of a block.
  ParallelFor(call.threads, planes * attrs.h, std::max<int64_t>(1, (1 << 15) / line),
              [&](int64_t begin, int64_t end) {
                for (int64_t u = begin; u < end; ++u) {
                  const int64_t i = u % attrs.h;
                  for (int64_t y = 0; y < height; ++y) {
                    const int64_t row = (u / attrs.h * height + y) * attrs.h + i;
                    MoveLine<T, kShuffle>(fine.Data<T>() + row * width * attrs.w,
                                          coarse.Data<T>() + u * attrs.w * plane + y * width, plane,
                                          width, attrs.w);
                  }
                }
              });
}

template <bool kShuffle>
Maybe<void> Run(const KernelCall& call) {
  return RunDense(
      call,
      [](const KernelCall& dense) -> Maybe<void> {
        switch (SizeOf(dense.outputs[0].dtype)) {
          case 1: Move<uint8_t, kShuffle>(dense); break;
          case 2: Move<uint16_t, kShuffle>(dense); break;
          case 4: Move<uint32_t, kShuffle>(dense); break;
          default: Move<uint64_t, kShuffle>(dense); break;
        }
        return Ok();
      },
      Policy());
}

size_t Scratch(const KernelCall& call) { return DenseCall::ScratchBytes(call, Policy()); }

double Cost(const KernelCall& call) {
  return 50.0 + MemoryCostNs(2 * BytesOf(call.outputs[0])) +
         0.3 * static_cast<double>(call.outputs[0].Count());
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(shuffle_pixels,
                        {"shuffle_pixels.cpu.lines", &Run<true>, nullptr, &Cost, &Scratch});
ONEFLOW_REGISTER_KERNEL(unshuffle_pixels,
                        {"unshuffle_pixels.cpu.lines", &Run<false>, nullptr, &Cost, &Scratch});

}  // namespace cpu
}  // namespace oneflow
