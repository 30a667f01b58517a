#include "oneflow/core/placement.h"

#include <gtest/gtest.h>

namespace oneflow {
namespace {

TEST(PlacementTest, ParsesWhatItPrints) {
  for (const char* text : {"cpu:[0]", "cpu:[0, 1]", "cuda:[3, 1, 2]", "cuda:[[0, 1], [2, 3]]",
                           "cpu:[[0], [1]]", "cpu:[[[0, 1]], [[2, 3]]]"}) {
    EXPECT_EQ(CHECK_JUST(Placement::Parse(text)).ToString(), text);
  }
  EXPECT_EQ(CHECK_JUST(Placement::Parse("cpu:[[0,1],[2,3]]")).grid(), (Dims{2, 2}));
  EXPECT_EQ(CHECK_JUST(Placement::Parse("cpu: [ 0 , 1 ] ")).ranks(), (std::vector<int64_t>{0, 1}));
}

TEST(PlacementTest, NonsenseIsNamed) {
  for (const char* bad :
       {"", "cpu", "cpu:", "cpu:0", "cpu:[]", "cpu:[0", "cpu:[0,]", "cpu:[0]]", "tpu:[0]",
        "cpu:[0, [1]]", "cpu:[[0], 1]", "cpu:[[0, 1], [2]]", "cpu:[[], []]", "cpu:[a]", "cpu:[0] x",
        "cpu:[0, 0]", "cpu:[-1]", "cpu:[[[[[[[[[[[[[[[[[[0]]]]]]]]]]]]]]]]]]"}) {
    const Maybe<Placement> parsed = Placement::Parse(bad);
    ASSERT_FALSE(parsed.ok()) << bad;
    EXPECT_EQ(parsed.error()->kind(), ErrorKind::kValue) << bad;
    EXPECT_EQ(parsed.error()->message().rfind("[placement] expects", 0), 0u);
  }
}

TEST(PlacementTest, MakeChecksTheGrid) {
  EXPECT_TRUE(Placement::Make(DeviceType::kCPU, {0, 1, 2, 3}, {2, 2}).ok());
  EXPECT_EQ(Placement::Make(DeviceType::kCPU, {0, 1, 2}, {2, 2}).error()->message(),
            "[placement] expects a grid of 3 ranks, got (2, 2)");
  EXPECT_FALSE(Placement::Make(DeviceType::kCPU, {}, {}).ok());
  EXPECT_FALSE(Placement::Make(DeviceType::kCPU, {}, {0}).ok());
  EXPECT_FALSE(Placement::Make(DeviceType::kCPU, {}).ok());
  EXPECT_FALSE(Placement::Make(DeviceType::kCPU, {0}, {}).ok());
  EXPECT_EQ(Placement::Make(DeviceType::kCPU, {5, 4, 5}).error()->message(),
            "[placement] expects each rank once, got rank 5 twice");
}

TEST(PlacementTest, RanksHavePlacesInTheGrid) {
  const Placement p = CHECK_JUST(Placement::Parse("cuda:[[4, 5, 6], [7, 8, 9]]"));
  EXPECT_EQ(p.type(), DeviceType::kCUDA);
  EXPECT_EQ(p.IndexOf(8), 4);
  EXPECT_EQ(p.IndexOf(0), -1);
  EXPECT_EQ(p.Coordinates(4), (Dims{1, 1}));
  EXPECT_EQ(p.Coordinates(2), (Dims{0, 2}));
}

TEST(PlacementTest, EqualityCoversGridRanksAndDevice) {
  const Placement p = CHECK_JUST(Placement::Parse("cpu:[0, 1]"));
  EXPECT_EQ(p, CHECK_JUST(Placement::Make(DeviceType::kCPU, {0, 1})));
  for (const char* other : {"cuda:[0, 1]", "cpu:[1, 0]", "cpu:[[0, 1]]", "cpu:[0]"}) {
    EXPECT_NE(p, CHECK_JUST(Placement::Parse(other)));
  }
}

}  // namespace
}  // namespace oneflow
