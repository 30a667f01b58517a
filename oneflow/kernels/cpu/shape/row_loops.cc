// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/shape/row_loops.h"

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

template <typename Word>
void Pad(void* to, const void* from, const void* value, int64_t before, int64_t n, int64_t after) {
  Word* out = static_cast<Word*>(to);
  const Word* in = static_cast<const Word*>(from);
  const Word word = *static_cast<const Word*>(value);
  for (int64_t i = 0; i < before; ++i) { out[i] = word; }
  out += before;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) { out[i] = in[i]; }
  out += n;
  for (int64_t i = 0; i < after; ++i) { out[i] = word; }
}

template <typename Word>
void Turn(void* to, const void* from, int64_t n) {
  Word* out = static_cast<Word*>(to);
  const Word* in = static_cast<const Word*>(from) + (n - 1);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) { out[i] = in[-i]; }
}

constexpr RowTable kTable = {{{&Pad<uint8_t>, &Turn<uint8_t>},
                              {&Pad<uint16_t>, &Turn<uint16_t>},
                              {&Pad<uint32_t>, &Turn<uint32_t>},
                              {&Pad<uint64_t>, &Turn<uint64_t>}}};

}  // namespace

const RowTable& GetRowTable() { return kTable; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
