#include "bench/spikes/interleave.h"

#include <gtest/gtest.h>

#include <vector>

namespace oneflow::spikes {
namespace {

TEST(Quantile, InterpolatesBetweenOrderStatistics) {
  EXPECT_DOUBLE_EQ(Quantile({7}, 0.25), 7);
  EXPECT_DOUBLE_EQ(Median({4, 1, 3, 2}), 2.5);
  EXPECT_DOUBLE_EQ(Quantile({5, 1, 4, 2, 3}, 1.0), 5);
  EXPECT_DOUBLE_EQ(Iqr({1, 2, 3, 4, 5}), 2);
}

TEST(ControlAgrees, WantsSmallShiftAndSmallSpread) {
  EXPECT_TRUE(ControlAgrees(100, 2, 101, 1));
  EXPECT_FALSE(ControlAgrees(100, 2, 103, 1)) << "the medians differ by more than the spread";
  EXPECT_FALSE(ControlAgrees(100, 40, 103, 1)) << "the spread excuses anything";
}

TEST(Interleave, KeepsEachVariantsOwnSamples) {
  Interleave table({"first", "second"});
  int calls = 0;
  table.Add("constant", [&calls] {
    ++calls;
    return std::vector<double>{1, 10};
  });
  table.Add("other", [] { return std::vector<double>{2, 20}; });
  table.Run(5, 1);
  EXPECT_EQ(calls, 12) << "warm-up and 5 rounds, for the variant and for its control";
  EXPECT_DOUBLE_EQ(table.MedianOf(0, 1), 10);
  EXPECT_DOUBLE_EQ(table.MedianOf(1, 0), 2);
  EXPECT_TRUE(table.Valid(0));
}

TEST(Interleave, NoticesAHostThatChanges) {
  Interleave table({"drifts"});
  double value = 1;
  table.Add("drift", [&value] { return std::vector<double>{value *= 1.5}; });
  table.Run(9, 1);
  EXPECT_FALSE(table.Valid(0));
}

}  // namespace
}  // namespace oneflow::spikes
