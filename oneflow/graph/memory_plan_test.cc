#include "oneflow/graph/memory_plan.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace oneflow {
namespace graph {
namespace {

// No two arrays that are alive together overlap, and all lie inside.
void ExpectSound(const std::vector<Lifetime>& arrays, const MemoryPlan& plan) {
  for (size_t i = 0; i < arrays.size(); ++i) {
    EXPECT_EQ(plan.offsets[i] % kPlanAlignment, 0);
    EXPECT_LE(plan.offsets[i] + arrays[i].bytes, plan.bytes);
    for (size_t j = 0; j < i; ++j) {
      if (arrays[i].first > arrays[j].last || arrays[j].first > arrays[i].last) { continue; }
      const bool apart = plan.offsets[i] + arrays[i].bytes <= plan.offsets[j] ||
                         plan.offsets[j] + arrays[j].bytes <= plan.offsets[i];
      EXPECT_TRUE(apart || arrays[i].bytes == 0 || arrays[j].bytes == 0) << i << " and " << j;
    }
  }
}

TEST(MemoryPlanTest, AChainNeedsTwoArrays) {
  const std::vector<Lifetime> arrays = {{1000, 0, 1}, {1000, 1, 2}, {1000, 2, 3}, {1000, 3, 4}};
  const MemoryPlan plan = PlanMemory(arrays);
  ExpectSound(arrays, plan);
  EXPECT_EQ(plan.lower_bound, 2048);
  EXPECT_EQ(plan.bytes, 2048);
}

TEST(MemoryPlanTest, FillsTheSmallestGap) {
  // Two arrays that live throughout leave gaps of 128 and 64 bytes behind shorter ones.
  const std::vector<Lifetime> arrays = {{256, 0, 9}, {128, 0, 4}, {64, 0, 9}, {128, 5, 9}};
  const MemoryPlan plan = PlanMemory(arrays);
  ExpectSound(arrays, plan);
  EXPECT_EQ(plan.bytes, 448);
  EXPECT_EQ(plan.bytes, plan.lower_bound);
}

TEST(MemoryPlanTest, ArraysWithoutBytesTakeNone) {
  const std::vector<Lifetime> arrays = {{0, 0, 3}, {0, 0, 3}};
  EXPECT_EQ(PlanMemory(arrays).bytes, 0);
}

TEST(MemoryPlanTest, RandomLifetimesNeverOverlapAndStayNearTheBound) {
  uint32_t seed = 1;
  const auto draw = [&seed](int n) {
    seed = seed * 1664525u + 1013904223u;
    return static_cast<int>((seed >> 16) % static_cast<uint32_t>(n));
  };
  double worst = 1;
  for (int round = 0; round < 100; ++round) {
    std::vector<Lifetime> arrays;
    for (int i = 0; i < 60; ++i) {
      const int first = draw(50);
      arrays.push_back({draw(10) * 100, first, first + draw(8)});
    }
    const MemoryPlan plan = PlanMemory(arrays);
    ExpectSound(arrays, plan);
    EXPECT_GE(plan.bytes, plan.lower_bound);
    worst =
        std::max(worst, static_cast<double>(plan.bytes) / static_cast<double>(plan.lower_bound));
  }
  EXPECT_LT(worst, 1.4);
}

// The check above must see two arrays that overlap.
TEST(MemoryPlanTest, ThePlantedOverlapIsSeen) {
  const std::vector<Lifetime> arrays = {{64, 0, 1}, {64, 1, 2}};
  MemoryPlan plan = PlanMemory(arrays);
  plan.offsets[1] = plan.offsets[0];
  testing::TestPartResultArray failures;
  {
    testing::ScopedFakeTestPartResultReporter reporter(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &failures);
    ExpectSound(arrays, plan);
  }
  EXPECT_EQ(failures.size(), 1);
}

}  // namespace
}  // namespace graph
}  // namespace oneflow
