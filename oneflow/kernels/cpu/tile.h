// Tiles of a transposing copy: read by columns and written by rows, a few cache lines of each at a
// time, so that no line is fetched for one element only.
//
// Thread safety: pure functions.
#ifndef ONEFLOW_KERNELS_CPU_TILE_H_
#define ONEFLOW_KERNELS_CPU_TILE_H_

#include <cstdint>

namespace oneflow {
namespace cpu {

inline constexpr int64_t kTile = 32;

// out[r, c] = in[r, c]; the rows of `in` are dense down, those of `out` across. Steps in bytes.
template <typename Word>
void CopyTile(char* to, int64_t to_step, const char* from, int64_t from_step, int64_t rows,
              int64_t columns) {
  for (int64_t r = 0; r < rows; ++r) {
    auto* out = reinterpret_cast<Word*>(to + r * to_step);
    const char* in = from + r * static_cast<int64_t>(sizeof(Word));
    for (int64_t c = 0; c < columns; ++c) {
      out[c] = *reinterpret_cast<const Word*>(in + c * from_step);
    }
  }
}

using TileFn = void (*)(char*, int64_t, const char*, int64_t, int64_t, int64_t);

inline TileFn ChooseTile(int64_t size) {
  switch (size) {
    case 1: return &CopyTile<uint8_t>;
    case 2: return &CopyTile<uint16_t>;
    case 4: return &CopyTile<uint32_t>;
    default: return &CopyTile<uint64_t>;
  }
}

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_TILE_H_
