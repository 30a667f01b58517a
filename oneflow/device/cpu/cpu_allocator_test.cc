#include "oneflow/device/cpu/cpu_allocator.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <thread>
#include <vector>

namespace oneflow {
namespace cpu {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

class CpuAllocatorTest : public ::testing::Test {
 protected:
  CpuAllocatorTest() : a_(StreamClock::Allot()), b_(StreamClock::Allot()) {}
  ~CpuAllocatorTest() override {
    StreamClock::Return(a());
    StreamClock::Return(b());
  }
  StreamIndex a() const { return static_cast<StreamIndex>(a_); }
  StreamIndex b() const { return static_cast<StreamIndex>(b_); }
  // The next instruction of a stream; it has not run yet.
  StreamPoint Issue(StreamIndex stream) { return {StreamClock::Completed(stream) + 1, stream}; }
  void Run(StreamPoint point) { StreamClock::Advance(point.stream, point.seq); }
  MemoryBlock* Get(CpuAllocator* pool, size_t bytes, StreamIndex stream) {
    Maybe<MemoryBlock*> block = pool->Allocate(bytes, stream);
    EXPECT_TRUE(block.ok());
    return block.ok() ? block.value() : nullptr;
  }

 private:
  int a_, b_;
};

TEST(SizeClassTest, HoldsEverySizeWithAtMostAQuarterOfWaste) {
  for (size_t bytes = 1; bytes <= (size_t{1} << 47); bytes = bytes + bytes / 7 + 1) {
    const int c = SizeClassOf(bytes);
    ASSERT_LT(c, kNumSizeClasses);
    ASSERT_GE(SizeOfClass(c), bytes);
    ASSERT_TRUE(c == 0 || SizeOfClass(c - 1) < bytes) << bytes;
    ASSERT_LE(SizeOfClass(c), bytes + bytes / 4 + 64);
    ASSERT_EQ(SizeClassOf(SizeOfClass(c)), c);
    ASSERT_EQ(SizeOfClass(c) % 64, 0u);
  }
}

TEST_F(CpuAllocatorTest, BlocksAreAlignedDisjointAndWritable) {
  CpuAllocator pool{MemoryBudget(kNoLimit)};
  std::vector<MemoryBlock*> blocks;
  for (size_t bytes : {size_t{1}, size_t{64}, size_t{65}, size_t{4097}, kMiB, kMiB + 1, 5 * kMiB}) {
    for (int i = 0; i < 3; ++i) {
      MemoryBlock* block = Get(&pool, bytes, a());
      ASSERT_GE(block->bytes, bytes);
      ASSERT_EQ(reinterpret_cast<uintptr_t>(block->data) % 64, 0u);
      std::memset(block->data, static_cast<int>(blocks.size()), block->bytes);
      blocks.push_back(block);
    }
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    const auto* bytes = static_cast<const unsigned char*>(blocks[i]->data);
    EXPECT_EQ(bytes[0], i);
    EXPECT_EQ(bytes[blocks[i]->bytes - 1], i);
    pool.Free(blocks[i], nullptr, 0);
  }
  EXPECT_EQ(pool.Stats().allocated, 0);
}

TEST_F(CpuAllocatorTest, LargeBlocksAreRoundedUpByAtMostA64th) {
  CpuAllocator pool{MemoryBudget(kNoLimit)};
  for (size_t bytes = kMiB + 1; bytes < 64 * kMiB; bytes += bytes / 7) {
    MemoryBlock* block = Get(&pool, bytes, a());
    EXPECT_GE(block->bytes, bytes);
    EXPECT_LE(block->bytes, bytes + bytes / 64 + (size_t{16} << 10)) << bytes;
    pool.Free(block, nullptr, 0);
    pool.EmptyCache();
  }
  MemoryBlock* images = Get(&pool, 49 * kMiB / 32, a());
  EXPECT_EQ(images->bytes, 49 * kMiB / 32);
  pool.Free(images, nullptr, 0);
}

TEST_F(CpuAllocatorTest, ZeroBytesTakesNoMemory) {
  CpuAllocator pool{MemoryBudget(kNoLimit)};
  MemoryBlock* block = Get(&pool, 0, a());
  EXPECT_EQ(block->data, nullptr);
  pool.Free(block, nullptr, 0);
  EXPECT_EQ(pool.Stats().reserved, 0);
}

TEST_F(CpuAllocatorTest, HomeStreamReusesAtOnce) {
  CpuAllocator pool{MemoryBudget(kNoLimit)};
  for (size_t bytes : {size_t{100}, 3 * kMiB}) {
    MemoryBlock* block = Get(&pool, bytes, a());
    const StreamPoint queued = Issue(a());
    pool.Free(block, &queued, 1);
    EXPECT_EQ(Get(&pool, bytes, a()), block);
    pool.Free(block, &queued, 1);
    Run(queued);
  }
}

TEST_F(CpuAllocatorTest, WaitsForUsesOnOtherStreams) {
  CpuAllocator pool{MemoryBudget(kNoLimit)};
  MemoryBlock* block = Get(&pool, 3 * kMiB, a());
  const StreamPoint queued = Issue(b());
  pool.Free(block, &queued, 1);
  MemoryBlock* other = Get(&pool, 3 * kMiB, a());
  EXPECT_NE(other, block);
  pool.EmptyCache();
  std::memset(block->data, 1, block->bytes);  // still mapped: stream b has yet to use it
  Run(queued);
  EXPECT_EQ(Get(&pool, 3 * kMiB, a()), block);
  pool.Free(block, nullptr, 0);
  pool.Free(other, nullptr, 0);
}

TEST_F(CpuAllocatorTest, OtherStreamsTakeOnlyWhatTheHomeStreamHasFinished) {
  CpuAllocator pool{MemoryBudget(kNoLimit)};
  MemoryBlock* block = Get(&pool, 3 * kMiB, a());
  const StreamPoint queued = Issue(a());
  pool.Free(block, &queued, 1);
  MemoryBlock* other = Get(&pool, 3 * kMiB, b());
  EXPECT_NE(other, block);
  Run(queued);
  EXPECT_EQ(Get(&pool, 3 * kMiB, b()), block);
  pool.Free(block, nullptr, 0);
  pool.Free(other, nullptr, 0);
}

TEST_F(CpuAllocatorTest, EmptyCacheKeepsWhatQueuedInstructionsUse) {
  CpuAllocator pool{MemoryBudget(kNoLimit)};
  MemoryBlock* small = Get(&pool, 100, a());
  MemoryBlock* large = Get(&pool, 3 * kMiB, a());
  const StreamPoint queued = Issue(a());
  pool.Free(small, &queued, 1);
  pool.Free(large, &queued, 1);
  pool.EmptyCache();
  std::memset(small->data, 1, small->bytes);
  std::memset(large->data, 1, large->bytes);
  EXPECT_GT(pool.Stats().reserved, 0);
  Run(queued);
  pool.EmptyCache();
  EXPECT_EQ(pool.Stats().reserved, 0);
}

TEST_F(CpuAllocatorTest, AbsurdRequestIsAnErrorThatSaysWhatToDo) {
  CpuAllocator pool{MemoryBudget(kNoLimit)};
  MemoryBlock* block = Get(&pool, kMiB, a());
  for (size_t bytes : {size_t{1} << 46, size_t{1} << 60}) {
    Maybe<MemoryBlock*> refused = pool.Allocate(bytes, a());
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error()->kind(), ErrorKind::kOutOfMemory);
    const std::string& message = refused.error()->message();
    for (const char* part : {"cannot allocate", "1.00 MiB in use", "peak", "limit", "Try"}) {
      EXPECT_NE(message.find(part), std::string::npos) << message;
    }
  }
  EXPECT_LT(pool.Stats().reserved, int64_t{8} << 20);
  pool.Free(block, nullptr, 0);
}

TEST_F(CpuAllocatorTest, LimitIsKeptAndCacheIsGivenUpFirst) {
  CpuAllocator pool{MemoryBudget(static_cast<int64_t>(16 * kMiB))};
  MemoryBlock* block = Get(&pool, 10 * kMiB, a());
  Maybe<MemoryBlock*> refused = pool.Allocate(10 * kMiB, a());
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error()->message().find("ONEFLOW_CPU_MEMORY_LIMIT"), std::string::npos);
  pool.Free(block, nullptr, 0);
  MemoryBlock* bigger = Get(&pool, 15 * kMiB, a());  // fits only once the 10 MiB are unmapped
  EXPECT_LE(pool.Stats().reserved_peak, static_cast<int64_t>(16 * kMiB));
  pool.Free(bigger, nullptr, 0);
}

TEST_F(CpuAllocatorTest, SmallLimitStillServesSmallBlocks) {
  CpuAllocator pool{MemoryBudget(256 << 10)};
  MemoryBlock* block = Get(&pool, 1000, a());
  EXPECT_FALSE(pool.Allocate(512 << 10, a()).ok());
  pool.Free(block, nullptr, 0);
}

TEST_F(CpuAllocatorTest, ALargerBlockServesOnlyWhereThereIsNoRoom) {
  CpuAllocator pool{MemoryBudget(kNoLimit)};
  MemoryBlock* first = Get(&pool, 12 * kMiB, a());
  pool.Free(first, nullptr, 0);
  MemoryBlock* second = Get(&pool, 10 * kMiB, a());
  EXPECT_EQ(second->bytes, 10 * kMiB);
  MemoryBlock* third = Get(&pool, 12 * kMiB - 5000, a());  // less than a 16th smaller
  EXPECT_EQ(third, first);
  pool.Free(second, nullptr, 0);
  pool.Free(third, nullptr, 0);
  MemoryBlock* large = Get(&pool, 300 * kMiB, a());
  pool.Free(large, nullptr, 0);
  MemoryBlock* smaller = Get(&pool, 260 * kMiB, a());  // both would be more than is worth keeping
  EXPECT_EQ(smaller, large);
  pool.Free(smaller, nullptr, 0);
}

TEST_F(CpuAllocatorTest, ALargerBlockServesBeforeTheLimitIsReached) {
  CpuAllocator pool{MemoryBudget(static_cast<int64_t>(20 * kMiB))};
  MemoryBlock* first = Get(&pool, 12 * kMiB, a());
  pool.Free(first, nullptr, 0);
  MemoryBlock* second = Get(&pool, 10 * kMiB, a());
  EXPECT_EQ(second, first);
  pool.Free(second, nullptr, 0);
}

TEST_F(CpuAllocatorTest, CacheDoesNotGrowWithoutEnd) {
  CpuAllocator pool{MemoryBudget(kNoLimit)};
  for (size_t mib = 2; mib < 200; ++mib) { pool.Free(Get(&pool, mib * kMiB, a()), nullptr, 0); }
  // Highest use 199 MiB: a quarter more and the slack may stay.
  EXPECT_LE(pool.Stats().reserved, static_cast<int64_t>((199 + 50 + 64) * kMiB));
}

TEST_F(CpuAllocatorTest, StatsCount) {
  CpuAllocator pool{MemoryBudget(kNoLimit)};
  MemoryBlock* x = Get(&pool, 64, a());
  MemoryBlock* y = Get(&pool, 2 * kMiB, a());
  pool.Free(y, nullptr, 0);
  MemoryStats stats = pool.Stats();
  EXPECT_EQ(stats.allocated, 64);
  EXPECT_EQ(stats.allocated_peak, static_cast<int64_t>(64 + 2 * kMiB));
  EXPECT_EQ(stats.allocations, 2);
  EXPECT_EQ(stats.cache_hits, 0);
  EXPECT_GT(stats.limit, 0);
  ASSERT_EQ(stats.size_classes.size(), 2u);
  EXPECT_EQ(stats.size_classes[0].block_bytes, 64);
  EXPECT_EQ(stats.size_classes[0].in_use, 1);
  EXPECT_EQ(stats.size_classes[1].in_use, 0);
  EXPECT_EQ(stats.size_classes[1].cached, 1);
  EXPECT_EQ(stats.size_classes[0].in_use_bytes, 64);
  EXPECT_EQ(stats.size_classes[0].cached_bytes, 0);
  EXPECT_EQ(stats.size_classes[1].in_use_bytes, 0);
  EXPECT_EQ(stats.size_classes[1].cached_bytes, static_cast<int64_t>(2 * kMiB));
  EXPECT_EQ(stats.unsplit, static_cast<int64_t>(2 * kMiB) - 64);
  EXPECT_EQ(stats.reserved, static_cast<int64_t>(4 * kMiB));
  pool.ResetPeak();
  EXPECT_EQ(pool.Stats().allocated_peak, 64);
  pool.Free(x, nullptr, 0);
  EXPECT_EQ(Get(&pool, 50, a()), x);
  EXPECT_EQ(pool.Stats().cache_hits, 1);
  pool.Free(x, nullptr, 0);
}

TEST_F(CpuAllocatorTest, TailOfASlabIsNotLost) {
  CpuAllocator pool{MemoryBudget(kNoLimit)};
  std::vector<MemoryBlock*> blocks;
  for (int i = 0; i < 7; ++i) { blocks.push_back(Get(&pool, 700 << 10, a())); }
  const int64_t reserved = pool.Stats().reserved;
  for (int i = 0; i < 8; ++i) { blocks.push_back(Get(&pool, 64, a())); }
  EXPECT_EQ(pool.Stats().reserved, reserved);
  for (MemoryBlock* block : blocks) { pool.Free(block, nullptr, 0); }
  pool.EmptyCache();
  EXPECT_EQ(pool.Stats().reserved, 0);
}

TEST_F(CpuAllocatorTest, ThreadsNeverShareABlock) {
  CpuAllocator pool{MemoryBudget(kNoLimit)};
  const auto work = [&](int thread) {
    uint32_t state = static_cast<uint32_t>(thread) + 1;
    std::vector<MemoryBlock*> held;
    for (int i = 0; i < 20000; ++i) {
      state = state * 1664525u + 1013904223u;
      const size_t bytes = size_t{4} << ((state >> 24) % 19);
      MemoryBlock* block = Get(&pool, bytes, thread % 2 == 0 ? a() : b());
      ASSERT_NE(block, nullptr);
      *static_cast<int*>(block->data) = thread;
      held.push_back(block);
      if (held.size() < 32) { continue; }
      for (MemoryBlock* old : held) {
        ASSERT_EQ(*static_cast<int*>(old->data), thread);
        pool.Free(old, nullptr, 0);
      }
      held.clear();
      if (i % 4096 < 32) { pool.EmptyCache(); }
    }
    for (MemoryBlock* old : held) { pool.Free(old, nullptr, 0); }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) { threads.emplace_back(work, t); }
  for (std::thread& thread : threads) { thread.join(); }
  EXPECT_EQ(pool.Stats().allocated, 0);
  pool.EmptyCache();
  EXPECT_EQ(pool.Stats().reserved, 0);
}

TEST_F(CpuAllocatorTest, RegisteredPoolServesCpu0Only) {
  CHECK_JUST(RegisterCpuAllocator());
  Maybe<Allocator*> pool = GetAllocator(Device(DeviceType::kCPU, 0));
  ASSERT_TRUE(pool.ok());
  Maybe<MemoryBlock*> block = pool.value()->Allocate(10, a());
  ASSERT_TRUE(block.ok());
  pool.value()->LockForFork();
  pool.value()->UnlockAfterFork();
  pool.value()->Free(block.value(), nullptr, 0);
  EXPECT_FALSE(GetAllocator(Device(DeviceType::kCPU, 1)).ok());
}

}  // namespace
}  // namespace cpu
}  // namespace oneflow
