#include "oneflow/common/format.h"

#include <gtest/gtest.h>

#include <limits>

namespace oneflow {
namespace {

struct Point {
  int x;
  std::string ToString() const { return "<" + std::to_string(x) + ">"; }
};
enum class Color { kRed, kGreen };

TEST(FormatTest, EveryKindOfArgument) {
  const std::string text = "owned";
  EXPECT_EQ(Format("{} {} {} {} {}", 1, -2, 3u, int8_t{4}, uint64_t{5}), "1 -2 3 4 5");
  EXPECT_EQ(Format("{}", std::numeric_limits<int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(Format("{}", std::numeric_limits<uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(Format("{} {} {}", "literal", text, std::string_view("view")), "literal owned view");
  EXPECT_EQ(Format("{} {}", true, false), "true false");
  EXPECT_EQ(Format("{:.2f} {}", 1.5f, 0.25), "1.50 0.25");
  EXPECT_EQ(Format("{}", Color::kGreen), "1");
  EXPECT_EQ(Format("{}", Point{7}), "<7>");
  EXPECT_EQ(Format("{}", static_cast<const void*>(nullptr)), "0x0");
}

TEST(FormatTest, WithoutArguments) {
  EXPECT_EQ(Format(""), "");
  EXPECT_EQ(Format("plain {{}}"), "plain {}");
}

TEST(FormatTest, ABrokenPatternBecomesText) {
  EXPECT_NE(Format("{} {}", 1).find("{} {} (bad format: "), std::string::npos);
  EXPECT_NE(Format("{", 1).find("(bad format: "), std::string::npos);
  EXPECT_NE(Format("{:d}", "text").find("(bad format: "), std::string::npos);
}

}  // namespace
}  // namespace oneflow
