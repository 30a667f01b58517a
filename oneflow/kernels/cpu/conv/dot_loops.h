// Products of bfloat16 matrices by the instruction that multiplies pairs and adds them in float32 (AVX512_BF16): the
// packing of their operands, and tiles.
//
// A tile is kDotRows x kDotColumns numbers, summed over pairs of the depth in ascending order. Thread safety: pure functions.
#ifndef ONEFLOW_KERNELS_CPU_CONV_DOT_LOOPS_H_
#define ONEFLOW_KERNELS_CPU_CONV_DOT_LOOPS_H_

#include <cstdint>

namespace oneflow {
namespace cpu {

inline constexpr int64_t kDotRows = 6;
inline constexpr int64_t kDotColumns = 64;

// Has this machine the instruction, and may it be used (isa.h)? The functions below REQUIRE it.
bool HasDotLoops();

inline int64_t DotPairs(int64_t depth) { return (depth + 1) / 2; }

// to[pair * kDotRows + r] = a(r, 2 pair), a(r, 2 pair + 1), where a(r, k) = from[r * row + k * step]. Rows and an element that
// are not there are 0. REQUIRES that `row` or `step` is 1.
void PackDotRows(const uint16_t* from, int64_t row, int64_t step, int64_t rows, int64_t depth,
                 uint32_t* to);

// Columns of one image go into panels of kDotColumns, `panel` words apart: the first of them is number `first`.
// to[c / kDotColumns * panel + pair * kDotColumns + c % kDotColumns] = b(2 pair, j), b(2 pair + 1, j) for c = first + j and
// j < columns, where b(k, j) = from[k * row + j].
void PackDotColumns(const uint16_t* from, int64_t row, int64_t depth, int64_t columns,
                    int64_t first, int64_t panel, uint32_t* to);

// One panel, where neighbours are those of the depth: b(k, j) = from[j * column + k]. Columns that are not there are 0.
void PackDotColumnsOfRows(const uint16_t* from, int64_t column, int64_t depth, int64_t columns,
                          uint32_t* to);

// to[r * stride + j] = the product, rounded, for r < rows and all columns. `past`: past the caches, to lines that are
// whole; the thread calls FenceDots before others may read.
void DotTile(const uint32_t* a, const uint32_t* b, int64_t pairs, int64_t rows, uint16_t* to,
             int64_t stride, bool past);
void FenceDots();
// sums[r * kDotColumns + j] += the product, for all rows and columns.
void AddDotTile(const uint32_t* a, const uint32_t* b, int64_t pairs, float* sums);
// to[j] = sums[j], rounded, for j < count.
void RoundDots(const float* sums, int64_t count, uint16_t* to);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_CONV_DOT_LOOPS_H_
