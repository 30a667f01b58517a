// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/shape/row_loops.h"

#include "oneflow/kernels/cpu/vector_width.h"

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

// Rows may be short: whole vectors are stored, over the beginning of what comes next, which is then
// written. So only rows behind which there is room for a vector, on both sides, go that way.
template <typename Word>
void PadRows(void* to, const void* from, const void* value, int64_t before, int64_t n,
             int64_t after, int64_t rows) {
  typedef Word Vector __attribute__((vector_size(kVectorBytes)));
  constexpr int64_t kWidth = kVectorLanes<Word>;
  const Word word = *static_cast<const Word*>(value);
  const Vector words = Vector{} + word;
  const int64_t border = after + before;
  Word* out = static_cast<Word*>(to);
  const Word* in = static_cast<const Word*>(from);
  int64_t left = rows;
  if (n > 0 && left * n > kWidth) {
    for (int64_t i = 0; i < before; ++i) { out[i] = word; }
    out += before;
    for (; (left - 1) * n >= kWidth; --left) {
      for (int64_t i = 0; i < n; i += kWidth) {
        Vector v;
        __builtin_memcpy(&v, in + i, sizeof(v));
        __builtin_memcpy(out + i, &v, sizeof(v));
      }
      in += n;
      out += n;
      for (int64_t i = 0; i < border; i += kWidth) {
        __builtin_memcpy(out + i, &words, sizeof(words));
      }
      out += border;
    }
    out -= before;
  }
  for (; left > 0; --left, in += n, out += n + border) {
    Pad<Word>(out, in, value, before, n, after);
  }
}

template <typename Word>
void Turn(void* to, const void* from, int64_t n) {
  Word* out = static_cast<Word*>(to);
  const Word* in = static_cast<const Word*>(from) + (n - 1);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) { out[i] = in[-i]; }
}

template <typename Word>
void Weave(void* to, const void* const* from, int64_t count, int64_t n) {
  Word* out = static_cast<Word*>(to);
  if (count == 2) {
    const Word* a = static_cast<const Word*>(from[0]);
    const Word* b = static_cast<const Word*>(from[1]);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      out[2 * i] = a[i];
      out[2 * i + 1] = b[i];
    }
    return;
  }
  for (int64_t k = 0; k < count; ++k) {
    const Word* in = static_cast<const Word*>(from[k]);
    for (int64_t i = 0; i < n; ++i) { out[i * count + k] = in[i]; }
  }
}

template <typename Word>
constexpr RowLoops LoopsOf() {
  return {&Pad<Word>, &PadRows<Word>, &Turn<Word>, &Weave<Word>};
}

constexpr RowTable kTable = {
    {LoopsOf<uint8_t>(), LoopsOf<uint16_t>(), LoopsOf<uint32_t>(), LoopsOf<uint64_t>()}};

}  // namespace

const RowTable& GetRowTable() { return kTable; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
