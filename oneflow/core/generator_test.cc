#include "oneflow/core/generator.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

namespace oneflow {
namespace {

TEST(GeneratorTest, SlotsFollowEachOther) {
  GeneratorPtr generator = MakeIntrusive<Generator>(42);
  const RandomSlot a = generator->Reserve(10);
  const RandomSlot b = generator->Reserve(1);
  EXPECT_EQ(a.seed, 42u);
  EXPECT_EQ(a.offset, 0u);
  EXPECT_EQ(b.offset, 10u);
  EXPECT_EQ(generator->offset(), 11u);
}

TEST(GeneratorTest, SeedingStartsAnewAndAStateCanBeRestored) {
  GeneratorPtr generator = MakeIntrusive<Generator>(1);
  generator->Reserve(5);
  const uint64_t offset = generator->offset();
  generator->ManualSeed(2);
  EXPECT_EQ(generator->seed(), 2u);
  EXPECT_EQ(generator->offset(), 0u);
  generator->SetState(1, offset);
  EXPECT_EQ(generator->Reserve(1).offset, 5u);
}

TEST(GeneratorTest, ThreadsNeverGetTheSameBlocks) {
  GeneratorPtr generator = MakeIntrusive<Generator>(3);
  std::vector<std::vector<uint64_t>> offsets(3);
  std::vector<std::thread> threads;
  for (auto& mine : offsets) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) { mine.push_back(generator->Reserve(2).offset); }
    });
  }
  for (std::thread& thread : threads) { thread.join(); }
  std::set<uint64_t> all;
  for (const auto& mine : offsets) { all.insert(mine.begin(), mine.end()); }
  EXPECT_EQ(all.size(), 15000u);
  EXPECT_EQ(generator->offset(), 30000u);
}

TEST(GeneratorTest, ThereIsOneDefault) {
  EXPECT_EQ(DefaultGenerator().get(), DefaultGenerator().get());
}

}  // namespace
}  // namespace oneflow
