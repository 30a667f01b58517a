#include "oneflow/device/stream_clock.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

namespace oneflow {
namespace {

TEST(StreamClockTest, PointsPassInOrder) {
  const auto stream = static_cast<StreamIndex>(StreamClock::Allot());
  const uint64_t start = StreamClock::Completed(stream);
  EXPECT_TRUE(StreamClock::Passed(StreamPoint()));
  EXPECT_FALSE(StreamClock::Passed({start + 2, stream}));
  StreamClock::Advance(stream, start + 1);
  EXPECT_TRUE(StreamClock::Passed({start + 1, stream}));
  EXPECT_FALSE(StreamClock::Passed({start + 2, stream}));
  StreamClock::Return(stream);
}

TEST(StreamClockTest, AnIndexThatIsUsedAgainCountsOn) {
  const int first = StreamClock::Allot();
  const auto stream = static_cast<StreamIndex>(first);
  const uint64_t start = StreamClock::Completed(stream);
  StreamClock::Advance(stream, start + 5);
  StreamClock::Return(stream);
  EXPECT_EQ(StreamClock::Allot(), first);
  EXPECT_EQ(StreamClock::Completed(stream), start + 5);
  StreamClock::Return(stream);
}

TEST(StreamClockTest, IndicesAreDistinctAndRunOut) {
  std::set<int> taken;
  for (int index = StreamClock::Allot(); index >= 0; index = StreamClock::Allot()) {
    EXPECT_TRUE(taken.insert(index).second);
  }
  EXPECT_EQ(taken.size(), static_cast<size_t>(kMaxStreams - 1));
  EXPECT_EQ(taken.count(kHostStream), 0u);
  for (int index : taken) { StreamClock::Return(static_cast<StreamIndex>(index)); }
  EXPECT_GE(StreamClock::Allot(), 0);
}

// The happens-before promise; the thread sanitizer sees a breach of it.
TEST(StreamClockTest, WhatAnInstructionWroteIsVisibleOnceItHasPassed) {
  const auto stream = static_cast<StreamIndex>(StreamClock::Allot());
  uint64_t seq = StreamClock::Completed(stream);
  for (int i = 0; i < 200; ++i) {
    int data = 0;
    ++seq;
    std::thread worker([&] {
      data = 7;
      StreamClock::Advance(stream, seq);
    });
    while (!StreamClock::Passed({seq, stream})) { std::this_thread::yield(); }
    ASSERT_EQ(data, 7);
    worker.join();
  }
  StreamClock::Return(stream);
}

}  // namespace
}  // namespace oneflow
