// The pool's logic, over memory of the host: it needs no GPU, and runs in every configuration.
#include "oneflow/device/cuda/cuda_allocator.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>

namespace oneflow {
namespace cuda {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

// A device of `total` bytes. `Log` outlives the pool that owns this.
class FakeMemory : public DeviceMemory {
 public:
  struct Log {
    std::map<void*, size_t> live;
    size_t in_use = 0;
    int takes = 0;
    bool broken = false;
  };
  FakeMemory(size_t total, Log* log) : total_(total), log_(log) {}
  Maybe<void*> Take(size_t bytes) override {
    if (log_->broken) { return EnvironmentError("the device has fallen off the bus"); }
    if (log_->in_use + bytes > total_) { return OutOfMemoryError("full"); }
    void* data = std::malloc(1);
    log_->live[data] = bytes;
    log_->in_use += bytes;
    ++log_->takes;
    return data;
  }
  void Give(void* data) override {
    ASSERT_EQ(log_->live.count(data), 1u);
    log_->in_use -= log_->live[data];
    log_->live.erase(data);
    std::free(data);
  }
  int64_t TotalBytes() const override { return static_cast<int64_t>(total_); }

 private:
  const size_t total_;
  Log* const log_;
};

class CudaAllocatorTest : public ::testing::Test {
 protected:
  CudaAllocatorTest()
      : a_(static_cast<StreamIndex>(StreamClock::Allot())),
        b_(static_cast<StreamIndex>(StreamClock::Allot())),
        pool_(Device(DeviceType::kCUDA, 0), std::make_unique<FakeMemory>(64 * kMiB, &log_)) {}
  ~CudaAllocatorTest() override {
    StreamClock::Return(a_);
    StreamClock::Return(b_);
  }

  MemoryBlock* Allocate(size_t bytes, StreamIndex stream) {
    return CHECK_JUST(pool_.Allocate(bytes, stream));
  }
  StreamPoint Next(StreamIndex stream) { return {StreamClock::Completed(stream) + 1, stream}; }
  void Pass(StreamPoint point) { StreamClock::Advance(point.stream, point.seq); }

  FakeMemory::Log log_;
  const StreamIndex a_;
  const StreamIndex b_;
  CudaAllocator pool_;
};

TEST_F(CudaAllocatorTest, EmptyBlocksHaveNoData) {
  MemoryBlock* block = Allocate(0, a_);
  EXPECT_EQ(block->data, nullptr);
  pool_.Free(block, nullptr, 0);
  EXPECT_EQ(log_.takes, 0);
}

TEST_F(CudaAllocatorTest, AFreedBlockServesItsStreamAtOnceAlsoWhileItIsQueued) {
  MemoryBlock* first = Allocate(1000, a_);
  EXPECT_GE(first->bytes, 1000u);
  void* data = first->data;
  const StreamPoint queued = Next(a_);
  pool_.Free(first, &queued, 1);
  EXPECT_EQ(Allocate(1001, a_)->data, data);
  EXPECT_EQ(log_.takes, 1);
  EXPECT_EQ(pool_.Stats().cache_hits, 1);
  Pass(queued);
}

TEST_F(CudaAllocatorTest, AnotherStreamWaitsForTheLastUse) {
  MemoryBlock* first = Allocate(1000, a_);
  void* data = first->data;
  const StreamPoint queued = Next(a_);
  pool_.Free(first, &queued, 1);
  MemoryBlock* other = Allocate(1000, b_);
  EXPECT_NE(other->data, data);
  Pass(queued);
  EXPECT_EQ(Allocate(1000, b_)->data, data);
}

TEST_F(CudaAllocatorTest, ABlockInUseOnAnotherStreamServesNobody) {
  MemoryBlock* first = Allocate(1000, a_);
  void* data = first->data;
  const StreamPoint elsewhere = Next(b_);
  pool_.Free(first, &elsewhere, 1);
  MemoryBlock* second = Allocate(1000, a_);
  EXPECT_NE(second->data, data);
  pool_.EmptyCache();
  EXPECT_EQ(log_.live.count(data), 1u) << "given back while in use";
  Pass(elsewhere);
  EXPECT_EQ(Allocate(1000, a_)->data, data);
}

TEST_F(CudaAllocatorTest, OnlyAFittingBlockIsTaken) {
  MemoryBlock* large = Allocate(16 * kMiB, a_);
  pool_.Free(large, nullptr, 0);
  EXPECT_NE(Allocate(8 * kMiB, a_), large);  // would waste half of it
  EXPECT_EQ(Allocate(15 * kMiB, a_), large);
}

TEST_F(CudaAllocatorTest, AFullDeviceGivesBackTheCacheFirst) {
  MemoryBlock* block = Allocate(40 * kMiB, a_);
  pool_.Free(block, nullptr, 0);
  EXPECT_EQ(Allocate(60 * kMiB, b_)->bytes, 60 * kMiB);
  EXPECT_EQ(pool_.Stats().reserved, static_cast<int64_t>(60 * kMiB));
}

TEST_F(CudaAllocatorTest, AFullDeviceKeepsWhatIsQueued) {
  MemoryBlock* block = Allocate(40 * kMiB, a_);
  const StreamPoint queued = Next(a_);
  pool_.Free(block, &queued, 1);
  EXPECT_FALSE(pool_.Allocate(60 * kMiB, b_).ok());
  Pass(queued);
  EXPECT_TRUE(pool_.Allocate(60 * kMiB, b_).ok());
}

TEST_F(CudaAllocatorTest, OutOfMemorySaysWhatWasAskedAndWhatThereIs) {
  Allocate(40 * kMiB, a_);
  for (const size_t bytes : {40 * kMiB, size_t{1} << 60}) {
    const Maybe<MemoryBlock*> failed = pool_.Allocate(bytes, a_);
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error()->kind(), ErrorKind::kOutOfMemory);
    const std::string& text = failed.error()->message();
    EXPECT_NE(text.find("on cuda:0: 40.00 MiB in use"), std::string::npos) << text;
    EXPECT_NE(text.find("64.00 MiB in all"), std::string::npos) << text;
  }
}

TEST_F(CudaAllocatorTest, OtherFailuresOfTheDeviceArePassedOn) {
  log_.broken = true;
  const Maybe<MemoryBlock*> failed = pool_.Allocate(1, a_);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error()->kind(), ErrorKind::kEnvironment);
}

TEST_F(CudaAllocatorTest, StatsCountBlocksBySize) {
  MemoryBlock* small = Allocate(512, a_);
  MemoryBlock* large = Allocate(3 * kMiB, a_);
  pool_.Free(large, nullptr, 0);
  MemoryStats stats = pool_.Stats();
  EXPECT_EQ(stats.allocated, 512);
  EXPECT_EQ(stats.allocated_peak, static_cast<int64_t>(512 + 4 * kMiB));
  EXPECT_EQ(stats.limit, static_cast<int64_t>(64 * kMiB));
  ASSERT_EQ(stats.size_classes.size(), 2u);
  EXPECT_EQ(stats.size_classes[0].in_use, 1);
  EXPECT_EQ(stats.size_classes[1].block_bytes, static_cast<int64_t>(4 * kMiB));
  EXPECT_EQ(stats.size_classes[1].cached, 1);
  pool_.EmptyCache();
  pool_.ResetPeak();
  stats = pool_.Stats();
  EXPECT_EQ(stats.reserved_peak, 512);
  EXPECT_EQ(stats.size_classes.size(), 1u);
  pool_.Free(small, nullptr, 0);
}

TEST_F(CudaAllocatorTest, AForkChildRefusesAndGivesNothingBack) {
  MemoryBlock* block = Allocate(512, a_);
  pool_.LockForFork();
  pool_.AbandonInChild();
  pool_.UnlockAfterFork();
  const Maybe<MemoryBlock*> failed = pool_.Allocate(512, a_);
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.error()->message().find("forked process"), std::string::npos);
  pool_.Free(block, nullptr, 0);
  pool_.EmptyCache();
  EXPECT_EQ(log_.live.size(), 1u);
}

}  // namespace
}  // namespace cuda
}  // namespace oneflow
