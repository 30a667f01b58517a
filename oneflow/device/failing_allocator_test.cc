#include "oneflow/device/failing_allocator.h"

#include <gtest/gtest.h>

#include <thread>

#include "oneflow/device/cpu/cpu_allocator.h"

namespace oneflow {
namespace {

class FailingAllocatorTest : public ::testing::Test {
 protected:
  void SetUp() override { CHECK_JUST(RegisterCpuAllocator()); }
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
  const int64_t before = pool->Stats().allocated;
  MemoryBlock* block = CHECK_JUST(pool->Allocate(100, kHostStream));
  EXPECT_EQ(pool->Stats().allocated - before, 128);
  pool->Free(block, nullptr, 0);
  pool->ResetPeak();
  EXPECT_EQ(pool->Stats().allocated_peak, before);
  pool->EmptyCache();
  pool->LockForFork();
  pool->UnlockAfterFork();
}

}  // namespace
}  // namespace oneflow
