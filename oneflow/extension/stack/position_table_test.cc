#include "oneflow/extension/stack/position_table.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace oneflow {
namespace pystack {
namespace {

using Bytes = std::vector<int>;

Position At(PositionFormat format, const Bytes& bytes, int first_line, int lasti) {
  return DecodePosition(format, std::string(bytes.begin(), bytes.end()), first_line, lasti);
}

void ExpectPosition(const Position& p, int line, int end_line, int column, int end_column) {
  EXPECT_EQ(p.line, line);
  EXPECT_EQ(p.end_line, end_line);
  EXPECT_EQ(p.column, column);
  EXPECT_EQ(p.end_column, end_column);
}

// The first byte of an entry of the 3.11 format.
int Head(int kind, int units) { return 0x80 | (kind << 3) | (units - 1); }

TEST(LinesTest, StepsForwardBackwardAndOverCodeWithoutALine) {
  // 4 bytes of line 10, 2 without a line, 6 of line 13, 2 of line 11.
  const Bytes table = {4, 0, 2, 0x80, 6, 3, 2, 0xfe};
  const auto line = [&](int lasti) { return At(PositionFormat::kLines, table, 10, lasti).line; };
  EXPECT_EQ(line(0), 10);
  EXPECT_EQ(line(2), 10);
  EXPECT_EQ(line(4), -1);
  EXPECT_EQ(line(6), 13);
  EXPECT_EQ(line(10), 13);
  EXPECT_EQ(line(12), 11);
  EXPECT_EQ(line(14), -1);
  EXPECT_EQ(At(PositionFormat::kLines, table, 10, 6).column, -1);
}

TEST(LinesTest, AnEntryOfNoLengthOnlyMovesTheLine) {
  EXPECT_EQ(At(PositionFormat::kLines, {0, 100, 0, 100, 2, 1}, 1, 0).line, 202);
}

TEST(LinesTest, BeforeTheFirstInstructionTheFunctionBegins) {
  EXPECT_EQ(At(PositionFormat::kLines, {2, 5}, 10, -1).line, 10);
}

TEST(ColumnsTest, ShortForms) {
  // Kind 2: columns from 16; second byte: 3 more, 5 wide.
  ExpectPosition(At(PositionFormat::kColumns, {Head(2, 1), 0x35}, 8, 0), 8, 8, 19, 24);
}

TEST(ColumnsTest, OneLineForms) {
  const Bytes table = {Head(10, 1), 4, 9, Head(11, 2), 200, 230, Head(12, 1), 0, 255};
  ExpectPosition(At(PositionFormat::kColumns, table, 8, 0), 8, 8, 4, 9);
  ExpectPosition(At(PositionFormat::kColumns, table, 8, 2), 9, 9, 200, 230);
  ExpectPosition(At(PositionFormat::kColumns, table, 8, 4), 9, 9, 200, 230);
  ExpectPosition(At(PositionFormat::kColumns, table, 8, 6), 11, 11, 0, 255);
}

TEST(ColumnsTest, LongForm) {
  // Line -3 (signed varint 7), end line +2, column 99 (varint 100 = 36 + 1 * 64), end column 4.
  const Bytes table = {Head(14, 1), 7, 2, 0x40 | 36, 1, 5};
  ExpectPosition(At(PositionFormat::kColumns, table, 10, 0), 7, 9, 99, 4);
}

TEST(ColumnsTest, WithoutColumnsAndWithoutLine) {
  const Bytes table = {Head(13, 1), 4, Head(15, 8), Head(0, 1), 0x11};
  ExpectPosition(At(PositionFormat::kColumns, table, 10, 0), 12, 12, -1, -1);
  ExpectPosition(At(PositionFormat::kColumns, table, 10, 2), -1, -1, -1, -1);
  ExpectPosition(At(PositionFormat::kColumns, table, 10, 16), -1, -1, -1, -1);
  ExpectPosition(At(PositionFormat::kColumns, table, 10, 18), 12, 12, 1, 2);
}

TEST(ColumnsTest, ATableThatEndsTooEarlyGivesNothing) {
  ExpectPosition(At(PositionFormat::kColumns, {}, 10, 0), -1, -1, -1, -1);
  ExpectPosition(At(PositionFormat::kColumns, {Head(10, 1), 4}, 10, 0), -1, -1, -1, -1);
  ExpectPosition(At(PositionFormat::kColumns, {Head(14, 1), 0x7f, 0x7f}, 10, 0), -1, -1, -1, -1);
  ExpectPosition(At(PositionFormat::kColumns, {0x11, 0x22}, 10, 0), -1, -1, -1, -1);
  ExpectPosition(At(PositionFormat::kLines, {2}, 10, 0), -1, -1, -1, -1);
}

TEST(ColumnsTest, AVarintWithoutEndStops) {
  const Bytes table = {Head(14, 1), 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f};
  At(PositionFormat::kColumns, table, 10, 0);
  EXPECT_GE(LastLine(PositionFormat::kColumns, std::string(table.begin(), table.end()), 10), 10);
}

TEST(LastLineTest, FindsTheLargestEndLine) {
  EXPECT_EQ(LastLine(PositionFormat::kLines, "", 4), 4);
  EXPECT_EQ(LastLine(PositionFormat::kLines, std::string("\x02\x05\x02\xfe", 4), 4), 9);
  const Bytes table = {Head(14, 1), 4, 7, 1, 1, Head(13, 1), 3};
  EXPECT_EQ(LastLine(PositionFormat::kColumns, std::string(table.begin(), table.end()), 10), 19);
}

}  // namespace
}  // namespace pystack
}  // namespace oneflow
