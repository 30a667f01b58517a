// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/dropout/dropout_loops.h"

#include <cstddef>

#include "oneflow/core/philox_inline.h"

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

constexpr int kBlocks = 64;  // made together, so that each stage is one vector loop

void Mask(uint8_t* mask, int64_t n, uint64_t seed, uint64_t block, uint32_t threshold) {
  const auto k0 = static_cast<uint32_t>(seed);
  const auto k1 = static_cast<uint32_t>(seed >> 32);
  for (int64_t at = 0; at < n; at += 4 * kBlocks) {
    uint32_t words[4][kBlocks];
    const uint64_t first = block + static_cast<uint64_t>(at / 4);
    for (int i = 0; i < kBlocks; ++i) {
      const uint64_t counter = first + static_cast<uint64_t>(i);
      uint32_t a = static_cast<uint32_t>(counter);
      uint32_t b = static_cast<uint32_t>(counter >> 32);
      uint32_t c = 0, d = 0;
      philox::Rounds(k0, k1, &a, &b, &c, &d);
      words[0][i] = a, words[1][i] = b, words[2][i] = c, words[3][i] = d;
    }
    uint32_t kept[kBlocks];  // four bytes each
    for (int i = 0; i < kBlocks; ++i) {
      kept[i] = (words[0][i] >= threshold ? 0x1u : 0u) | (words[1][i] >= threshold ? 0x100u : 0u) |
                (words[2][i] >= threshold ? 0x10000u : 0u) |
                (words[3][i] >= threshold ? 0x1000000u : 0u);
    }
    const int64_t count = n - at < 4 * kBlocks ? n - at : 4 * kBlocks;
    __builtin_memcpy(mask + at, kept, static_cast<size_t>(count));
  }
}

template <typename T>
void Apply(const T* x, const uint8_t* mask, const T* addend, T* y, int64_t n, T scale) {
  if (addend == nullptr) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) { y[i] = x[i] * (mask[i] != 0 ? scale : T{0}); }
    return;
  }
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) { y[i] = x[i] * (mask[i] != 0 ? scale : T{0}) + addend[i]; }
}

constexpr DropoutLoopTable kLoops = {&Mask, {&Apply<float>}, {&Apply<double>}};

}  // namespace

const DropoutLoopTable& GetDropoutLoopTable() { return kLoops; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
