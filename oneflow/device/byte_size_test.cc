#include "oneflow/device/byte_size.h"

#include <gtest/gtest.h>

namespace oneflow {
namespace {

TEST(ParseBytesTest, ReadsUnits) {
  int64_t bytes = 0;
  EXPECT_TRUE(ParseBytes("1048576", &bytes));
  EXPECT_EQ(bytes, 1048576);
  EXPECT_TRUE(ParseBytes("512k", &bytes));
  EXPECT_EQ(bytes, 512 << 10);
  EXPECT_TRUE(ParseBytes("1.5GiB", &bytes));
  EXPECT_EQ(bytes, int64_t{3} << 29);
  EXPECT_TRUE(ParseBytes("2TB", &bytes));
  EXPECT_EQ(bytes, int64_t{2} << 40);
  bytes = -7;
  for (const char* bad : {"", "x", "G", "1X", "1 G", "-1G", "0", "1GG", "1e40", "1e3", "nan", "inf",
                          "0x10", " 5", "5 ", "1.2.3", "+5", ".", "KiB"}) {
    EXPECT_FALSE(ParseBytes(bad, &bytes)) << bad;
  }
  EXPECT_EQ(bytes, -7);
}

TEST(FormatBytesTest, PicksTheUnit) {
  EXPECT_EQ(FormatBytes(512), "512 bytes");
  EXPECT_EQ(FormatBytes(1536), "1.50 KiB");
  EXPECT_EQ(FormatBytes(int64_t{1} << 46), "64.00 TiB");
}

}  // namespace
}  // namespace oneflow
