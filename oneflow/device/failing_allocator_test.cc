#include "oneflow/device/failing_allocator.h"

#include <gtest/gtest.h>

#include <thread>

namespace oneflow {
namespace {

// Counts what it is asked.
class CountingAllocator : public Allocator {
 public:
  Maybe<MemoryBlock*> Allocate(size_t bytes, StreamIndex) override {
    auto* block = new MemoryBlock;
    block->data = this;
    block->bytes = bytes;
    stats_.allocated += static_cast<int64_t>(bytes);
    return block;
  }
  void Free(MemoryBlock* block, const StreamPoint*, int) override {
    stats_.allocated -= static_cast<int64_t>(block->bytes);
    delete block;
  }
  MemoryStats Stats() const override { return stats_; }
  void ResetPeak() override { ++resets; }
  void EmptyCache() override { ++empties; }
  void LockForFork() override { ++locks; }
  void UnlockAfterFork() override { --locks; }

  int resets = 0;
  int empties = 0;
  int locks = 0;

 private:
  MemoryStats stats_;
};

CountingAllocator pool_of_all_tests;

class FailingAllocatorTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { RegisterAllocator(Device(), &pool_of_all_tests); }
  int64_t Arm(int64_t nth) { return CHECK_JUST(FailAllocation(Device(), nth)); }
  // Whether a request is served; the memory is given back.
  bool Served(size_t bytes) {
    Allocator* pool = CHECK_JUST(GetAllocator(Device()));
    Maybe<MemoryBlock*> block = pool->Allocate(bytes, kHostStream);
    if (block.ok()) { pool->Free(block.value(), nullptr, 0); }
    if (!block.ok()) { EXPECT_EQ(block.error()->kind(), ErrorKind::kOutOfMemory); }
    return block.ok();
  }
};

TEST_F(FailingAllocatorTest, TheNthRequestFailsAndItsRepetition) {
  EXPECT_EQ(Arm(3), 0);
  EXPECT_TRUE(Served(10));
  EXPECT_TRUE(Served(0));  // is no request
  EXPECT_TRUE(Served(20));
  EXPECT_FALSE(Served(30));
  EXPECT_FALSE(Served(30));
  EXPECT_TRUE(Served(30));
  EXPECT_EQ(Arm(0), 0);
}

TEST_F(FailingAllocatorTest, AnotherRequestIsNoRepetition) {
  Arm(1);
  EXPECT_FALSE(Served(30));
  EXPECT_TRUE(Served(40));
  EXPECT_TRUE(Served(30));
}

TEST_F(FailingAllocatorTest, CountsTheCallingThreadOnly) {
  Arm(1);
  std::thread([this] { EXPECT_TRUE(Served(8)); }).join();
  EXPECT_EQ(Arm(0), 1);
  EXPECT_TRUE(Served(8));
}

TEST_F(FailingAllocatorTest, BadNumbersAndDevices) {
  EXPECT_EQ(FailAllocation(Device(), -1).error()->kind(), ErrorKind::kValue);
  EXPECT_EQ(FailAllocation(Device(DeviceType::kCPU, 1), 1).error()->kind(), ErrorKind::kRuntime);
}

TEST_F(FailingAllocatorTest, TheRestIsThePools) {
  Arm(0);
  Allocator* pool = CHECK_JUST(GetAllocator(Device()));
  ASSERT_NE(pool, &pool_of_all_tests);
  MemoryBlock* block = CHECK_JUST(pool->Allocate(100, kHostStream));
  EXPECT_EQ(pool->Stats().allocated, 100);
  pool->Free(block, nullptr, 0);
  EXPECT_EQ(pool->Stats().allocated, 0);
  pool->ResetPeak();
  pool->EmptyCache();
  EXPECT_EQ(pool_of_all_tests.resets, 1);
  EXPECT_EQ(pool_of_all_tests.empties, 1);
  pool->LockForFork();
  EXPECT_EQ(pool_of_all_tests.locks, 1);
  pool->UnlockAfterFork();
  EXPECT_EQ(pool_of_all_tests.locks, 0);
}

}  // namespace
}  // namespace oneflow
