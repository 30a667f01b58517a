#include "oneflow/device/live_memory.h"

#include <gtest/gtest.h>

#include <thread>

namespace oneflow {
namespace {

// Stacks are numbers; a stack's one frame has its number as its line.
class FakeStacks : public StackSource {
 public:
  FakeStacks() { Set(this); }
  ~FakeStacks() override { Set(nullptr); }
  StackId Capture() override { return next; }
  void Pin(StackId) override { ++pins; }
  void Unpin(StackId) override { --pins; }
  std::vector<StackFrame> Resolve(StackId id) const override {
    StackFrame frame;
    frame.file = "program.py";
    frame.line = static_cast<int>(id);
    return {frame};
  }
  bool Evicted(StackId) const override { return false; }

  StackId next = 1;
  Atomic<int> pins{0};
};

class LiveMemoryTest : public ::testing::Test {
 protected:
  LiveMemory::Record* Add(size_t bytes, const Shape& shape = {2, 3}) {
    return LiveMemory::Add({"made", bytes, device_, &shape, DataType::kInt8}, bytes + 64,
                           &holders_);
  }
  LiveTensors Find(int largest) { return LiveMemory::Find(device_, largest); }

  FakeStacks stacks_;
  Device device_;
  Atomic<int32_t> holders_{2};
};

TEST_F(LiveMemoryTest, LargestFirstAndTheOlderOfEqualOnes) {
  std::vector<LiveMemory::Record*> records;
  for (size_t bytes : {30, 50, 10, 50, 20, 50, 40}) {
    records.push_back(Add(bytes));
    ++stacks_.next;
  }
  const LiveTensors found = Find(5);
  EXPECT_EQ(found.count, 7);
  EXPECT_EQ(found.bytes, 250 + 7 * 64);
  ASSERT_EQ(found.largest.size(), 5u);
  const int64_t bytes[] = {50, 50, 50, 40, 30};
  const int lines[] = {2, 4, 6, 7, 1};
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(found.largest[i].bytes, bytes[i]);
    ASSERT_EQ(found.largest[i].lines.size(), 1u);
    EXPECT_EQ(found.largest[i].lines[0].line, lines[i]);
    EXPECT_EQ(found.largest[i].shape, (Shape{2, 3}));
    EXPECT_EQ(found.largest[i].dtype, DataType::kInt8);
    EXPECT_EQ(found.largest[i].holders, 2);
    EXPECT_FALSE(found.largest[i].in_backward);
  }
  for (LiveMemory::Record* record : records) { LiveMemory::Remove(record); }
  EXPECT_EQ(Find(5).count, 0);
  EXPECT_EQ(stacks_.pins.load(), 0);
}

TEST_F(LiveMemoryTest, NoneAreAskedFor) {
  LiveMemory::Record* record = Add(8);
  EXPECT_EQ(Find(0).count, 1);
  EXPECT_TRUE(Find(0).largest.empty());
  EXPECT_EQ(LiveMemory::Find(Device(DeviceType::kCUDA, 0), 5).count, 0);
  LiveMemory::Remove(record);
}

TEST_F(LiveMemoryTest, ShapesOfManyDimensionsAreKept) {
  const Shape shape(12, 2);
  LiveMemory::Record* record = Add(4096, shape);
  EXPECT_EQ(Find(1).largest[0].shape, shape);
  LiveMemory::Remove(record);
}

TEST_F(LiveMemoryTest, BackwardIsSaid) {
  const StackContextPtr context = StackContext::InBackward(nullptr, 9);
  LiveMemory::Record* record;
  {
    ScopedStack stack(5, context.get());
    record = Add(16);
  }
  EXPECT_TRUE(Find(1).largest[0].in_backward);
  EXPECT_EQ(Find(1).largest[0].lines[0].line, 5);
  LiveMemory::Remove(record);
}

TEST_F(LiveMemoryTest, ThreadsComeAndGoWhileOneLooks) {
  std::vector<std::thread> threads;
  for (size_t t = 1; t <= 3; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 20000; ++i) {
        LiveMemory::Record* a = Add(t * 100);
        LiveMemory::Record* b = Add(t * 100 + 1);
        LiveMemory::Remove(a);
        LiveMemory::Remove(b);
      }
    });
  }
  for (int i = 0; i < 300; ++i) {
    const LiveTensors found = Find(4);
    EXPECT_LE(found.count, 6);
    for (size_t k = 1; k < found.largest.size(); ++k) {
      EXPECT_GE(found.largest[k - 1].bytes, found.largest[k].bytes);
    }
  }
  for (std::thread& thread : threads) { thread.join(); }
  EXPECT_EQ(Find(1).count, 0);
  EXPECT_EQ(stacks_.pins.load(), 0);
  LiveMemory::LockForFork();
  LiveMemory::UnlockAfterFork();
}

}  // namespace
}  // namespace oneflow
