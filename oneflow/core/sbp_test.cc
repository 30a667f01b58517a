#include "oneflow/core/sbp.h"

#include <gtest/gtest.h>

namespace oneflow {
namespace {

TEST(SbpTest, ParsesWhatItPrints) {
  for (Sbp sbp : {Sbp::Split(0), Sbp::Split(11), Sbp::Broadcast(), Sbp::PartialSum()}) {
    EXPECT_EQ(CHECK_JUST(Sbp::Parse(sbp.ToString())), sbp);
  }
  EXPECT_EQ(Sbp::Split(1).ToString(), "S(1)");
  EXPECT_EQ(Sbp::Split(1).dim(), 1);
  EXPECT_EQ(Sbp::Broadcast().dim(), -1);
  EXPECT_NE(Sbp::Split(0), Sbp::Split(1));
}

TEST(SbpTest, ParsesLongNames) {
  EXPECT_EQ(CHECK_JUST(Sbp::Parse("split(2)")), Sbp::Split(2));
  EXPECT_EQ(CHECK_JUST(Sbp::Parse("broadcast")), Sbp::Broadcast());
  EXPECT_EQ(CHECK_JUST(Sbp::Parse("partial_sum")), Sbp::PartialSum());
}

TEST(SbpTest, NonsenseIsNamed) {
  for (const char* bad : {"", "S", "S(", "S()", "S(x)", "S(-1)", "S(16)", "S(1", "b", "split"}) {
    const Maybe<Sbp> parsed = Sbp::Parse(bad);
    ASSERT_FALSE(parsed.ok()) << bad;
    EXPECT_EQ(parsed.error()->kind(), ErrorKind::kValue);
  }
}

}  // namespace
}  // namespace oneflow
