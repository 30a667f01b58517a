#include "oneflow/core/saturated.h"

#include "gtest/gtest.h"

namespace oneflow {
namespace {

constexpr int64_t kMost = INT64_MAX, kLeast = INT64_MIN;

TEST(Saturated, KeepsWhatFits) {
  for (int64_t value : {int64_t{0}, int64_t{-7}, kMostSize, -kMostSize}) {
    EXPECT_EQ(Saturated(value), value);
  }
}

TEST(Saturated, StopsAtTheEnds) {
  EXPECT_EQ(Saturated(kMost), kMostSize);
  EXPECT_EQ(Saturated(kLeast), -kMostSize);
  EXPECT_EQ(Saturated(Wide{kMost} * kMost), kMostSize);
  EXPECT_EQ(SaturatedProduct(kMost, kLeast), -kMostSize);
  EXPECT_EQ(SaturatedProduct(int64_t{1} << 32, int64_t{1} << 32), kMostSize);
  EXPECT_EQ(SaturatedProduct(kMost, 0), 0);
}

TEST(WindowReach, OfOneElementIsOne) {
  EXPECT_EQ(WindowReach(1, kMost), 1);
  EXPECT_EQ(WindowReach(3, 2), 5);
  EXPECT_EQ(WindowReach(kMost, kMost), kMostSize);
}

}  // namespace
}  // namespace oneflow
