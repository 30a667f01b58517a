// Packing and tiles of bfloat16 products, against sums in double. On a machine without the instruction there is nothing
// to compare: then only that is said.
#include "oneflow/kernels/cpu/conv/dot_loops.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "oneflow/kernels/cpu/bfloat16.h"
#include "oneflow/kernels/cpu/conv/lines_ahead.h"
#include "oneflow/kernels/cpu/isa.h"

namespace oneflow {
namespace cpu {
namespace {

using Words = std::vector<uint16_t>;

uint16_t Number(int64_t i) { return Narrow(static_cast<float>((i * 37 + 11) % 101 - 50) / 8).bits; }
double Wide(uint16_t bits) { return static_cast<double>(Widen(BFloat16{bits})); }

Words Numbers(int64_t count) {
  Words words(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) { words[static_cast<size_t>(i)] = Number(i); }
  return words;
}

// Matrices of rows and columns by depth; how an element lies.
struct Product {
  int64_t rows, columns, depth;
  Words a = Numbers(rows * depth);     // a(r, k) at r * depth + k
  Words b = Numbers(depth * columns);  // b(k, j) at k * columns + j

  double At(int64_t r, int64_t j) const {
    double sum = 0.0;
    for (int64_t k = 0; k < depth; ++k) {
      sum += Wide(a[static_cast<size_t>(r * depth + k)]) *
             Wide(b[static_cast<size_t>(k * columns + j)]);
    }
    return sum;
  }
  Words TurnedA() const {
    Words turned(a.size());
    for (int64_t i = 0; i < rows * depth; ++i) {
      turned[static_cast<size_t>(i % depth * rows + i / depth)] = a[static_cast<size_t>(i)];
    }
    return turned;
  }
  Words TurnedB() const {
    Words turned(b.size());
    for (int64_t i = 0; i < depth * columns; ++i) {
      turned[static_cast<size_t>(i % columns * depth + i / columns)] = b[static_cast<size_t>(i)];
    }
    return turned;
  }
};

int64_t Wrong(const Product& p, const uint16_t* got) {
  int64_t wrong = 0;
  for (int64_t r = 0; r < p.rows; ++r) {
    for (int64_t j = 0; j < p.columns; ++j) {
      const double want = p.At(r, j);
      const double far = std::abs(Wide(got[r * kDotColumns + j]) - want);
      wrong += far <= 0x1p-7 * std::max(1.0, std::abs(want)) ? 0 : 1;
    }
  }
  return wrong;
}

class DotLoopsTest : public ::testing::TestWithParam<Product> {};

TEST_P(DotLoopsTest, AgreesWithSums) {
  const Product& p = GetParam();
  if (!HasDotLoops()) { return; }
  const auto pairs = static_cast<size_t>(DotPairs(p.depth));
  std::vector<uint32_t> rows(pairs * kDotRows), other_rows(rows);
  std::vector<uint32_t> columns(pairs * kDotColumns), other_columns(columns);
  PackDotRows(p.a.data(), p.depth, 1, p.rows, p.depth, rows.data());
  PackDotRows(p.TurnedA().data(), 1, p.rows, p.rows, p.depth, other_rows.data());
  EXPECT_EQ(rows, other_rows);
  const auto panel = static_cast<int64_t>(columns.size());
  PackDotColumns(p.b.data(), p.columns, p.depth, p.columns, 0, panel, columns.data());
  PackDotColumnsOfRows(p.TurnedB().data(), p.depth, p.depth, p.columns, other_columns.data());
  EXPECT_EQ(columns, other_columns);
  alignas(64) uint16_t tile[kDotRows * kDotColumns] = {}, past[kDotRows * kDotColumns] = {};
  DotTile(rows.data(), columns.data(), DotPairs(p.depth), p.rows, tile, kDotColumns, false);
  EXPECT_EQ(Wrong(p, tile), 0);
  DotTile(rows.data(), columns.data(), DotPairs(p.depth), p.rows, past, kDotColumns, true);
  FenceDots();
  EXPECT_TRUE(std::equal(tile, tile + kDotRows * kDotColumns, past));
  std::vector<float> sums(kDotRows * kDotColumns, 0.0F);
  AddDotTile(rows.data(), columns.data(), DotPairs(p.depth), sums.data());
  Words rounded(sums.size());
  RoundDots(sums.data(), static_cast<int64_t>(sums.size()), rounded.data());
  EXPECT_EQ(Wrong(p, rounded.data()), 0);
  rounded[1] ^= 0x80;  // the comparison sees one other number
  EXPECT_EQ(Wrong(p, rounded.data()), 1);
}

INSTANTIATE_TEST_SUITE_P(Shapes, DotLoopsTest,
                         ::testing::Values(Product{6, 64, 32}, Product{6, 64, 97},
                                           Product{3, 37, 18}, Product{2, 5, 1}));

// Columns that begin in the middle of a panel and go on in the next ones.
TEST(DotLoopsTest, ColumnsGoIntoPanels) {
  if (!HasDotLoops()) { return; }
  constexpr int64_t kDepth = 3, kColumns = 700, kFirst = 41;
  const Words b = Numbers(kDepth * kColumns);
  const int64_t panel = DotPairs(kDepth) * kDotColumns + 16;
  std::vector<uint32_t> to(static_cast<size_t>(12 * panel), 7);
  PackDotColumns(b.data(), kColumns, kDepth, kColumns, kFirst, panel, to.data());
  int64_t changed = 0;
  for (uint32_t word : to) { changed += word == 7 ? 0 : 1; }
  EXPECT_EQ(changed, kColumns * DotPairs(kDepth));
  for (int64_t k = 0; k < kDepth; ++k) {
    for (int64_t j = 0; j < kColumns; ++j) {
      const int64_t c = kFirst + j;
      const uint32_t pair =
          to[static_cast<size_t>(c / kDotColumns * panel + k / 2 * kDotColumns + c % kDotColumns)];
      const auto got = static_cast<uint16_t>(k % 2 == 0 ? pair : pair >> 16);
      ASSERT_EQ(got, b[static_cast<size_t>(k * kColumns + j)]) << k << " " << j;
    }
  }
}

TEST(DotLoopsTest, AreUsedWithAvx512Only) {
  const Isa before = CurrentIsa();
  SetIsa(Isa::kBaseline);
  EXPECT_FALSE(HasDotLoops());
  SetIsa(before);
}

TEST(LinesAheadTest, EndsWithItsRows) {
  const char rows[3][200] = {};
  LinesAhead ahead(rows, 3, 150, 200, 4);
  for (int i = 0; i < 10; ++i) { ahead.Ask(); }
  LinesAhead().Ask();
}

}  // namespace
}  // namespace cpu
}  // namespace oneflow
