#include "oneflow/kernels/cpu/conv/filter_blocks.h"

#include <gtest/gtest.h>

#include <vector>

#include "oneflow/kernels/cpu/kernel_testing.h"

namespace oneflow {
namespace cpu {
namespace testing {
namespace {

Dims PickShape(Rng* rng) {
  return {16 * Pick(rng, 1, 5), 16 * Pick(rng, 1, 5), Pick(rng, 1, 4), Pick(rng, 1, 4)};
}

// As the order is written down.
double ElementOf(const HostArray& plain, int64_t o, int64_t c, int64_t p) {
  const int64_t pixels = plain.shape()[2] * plain.shape()[3];
  return plain.At((o * plain.shape()[1] + c) * pixels + p);
}

TEST(FilterBlocks, AsTheOrderIsWrittenDown) {
  Rng rng(1);
  for (int trial = 0; trial < 30; ++trial) {
    const Dims s = PickShape(&rng);
    HostArray plain(DataType::kFloat, s);
    plain.Fill(&rng, true);
    HostArray moved = plain;
    CHECK_JUST(Call("filter_blocks.cpu.arrange", {}, {&moved}, nullptr, 2));
    int64_t i = 0;
    for (int64_t ob = 0; ob < s[0] / 16; ++ob) {
      for (int64_t cb = 0; cb < s[1] / 16; ++cb) {
        for (int64_t p = 0; p < s[2] * s[3]; ++p) {
          for (int64_t c = 0; c < 16; ++c) {
            for (int64_t o = 0; o < 16; ++o) {
              const double want = ElementOf(plain, ob * 16 + o, cb * 16 + c, p);
              const double got = moved.At(i++);
              ASSERT_TRUE(got == want || (got != got && want != want)) << s.ToString() << " " << i;
            }
          }
        }
      }
    }
    CHECK_JUST(Call("filter_blocks.cpu.restore", {}, {&moved}, nullptr, 2));
    ASSERT_EQ(Difference(moved, plain, 0.0), "") << s.ToString();
    ASSERT_TRUE(moved.GuardsIntact());
  }
}

TEST(FilterBlocks, TheSameWithoutMemory) {
  Rng rng(2);
  for (int trial = 0; trial < 20; ++trial) {
    const FilterRun run{16 * Pick(&rng, 1, 5), Pick(&rng, 1, 9)};
    std::vector<float> plain(static_cast<size_t>(run.Count()));
    for (float& x : plain) { x = static_cast<float>(Pick(&rng, 0, 1 << 20)); }
    std::vector<float> copy = plain;
    std::vector<float> with = plain;
    std::vector<float> without = plain;
    MoveFilterRun(run, true, with.data(), copy.data());
    MoveFilterRun(run, true, without.data(), nullptr);
    ASSERT_EQ(with, without) << run.channels << " " << run.pixels;
    for (int64_t i = 0; i < run.Count(); ++i) {
      ASSERT_EQ(with[static_cast<size_t>(run.PlaceOf(i))], plain[static_cast<size_t>(i)]);
    }
    MoveFilterRun(run, false, without.data(), nullptr);
    ASSERT_EQ(without, plain) << run.channels << " " << run.pixels;
  }
}

// The comparison sees an array that was not moved.
TEST(FilterBlocks, PlantedFaultIsSeen) {
  Rng rng(3);
  HostArray plain(DataType::kFloat, {16, 32, 3, 3});
  plain.Fill(&rng, false);
  HostArray moved = plain;
  CHECK_JUST(Call("filter_blocks.cpu.arrange", {}, {&moved}, nullptr));
  EXPECT_NE(Difference(moved, plain, 0.0), "");
}

}  // namespace
}  // namespace testing
}  // namespace cpu
}  // namespace oneflow
