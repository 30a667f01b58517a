#include "oneflow/lifetime/deferred_release.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace oneflow {
namespace lifetime {
namespace {

std::vector<int>* released = nullptr;

void Release(void* object) { released->push_back(*static_cast<int*>(object)); }

void ReleaseAndDeferAgain(void* object) {
  Release(object);
  DeferRelease(Release, object);
}

TEST(DeferredReleaseTest, OldestFirstAndOnlyOnce) {
  std::vector<int> seen;
  released = &seen;
  int values[] = {1, 2, 3};
  EXPECT_FALSE(HasDeferredReleases());
  for (int& value : values) { DeferRelease(Release, &value); }
  EXPECT_TRUE(HasDeferredReleases());
  EXPECT_EQ(DrainDeferredReleases(), 3u);
  EXPECT_EQ(seen, (std::vector<int>{1, 2, 3}));
  EXPECT_FALSE(HasDeferredReleases());
  EXPECT_EQ(DrainDeferredReleases(), 0u);
}

TEST(DeferredReleaseTest, AReleaseFunctionMayDefer) {
  std::vector<int> seen;
  released = &seen;
  int value = 7;
  DeferRelease(ReleaseAndDeferAgain, &value);
  EXPECT_EQ(DrainDeferredReleases(), 1u);
  EXPECT_TRUE(HasDeferredReleases());
  EXPECT_EQ(DrainDeferredReleases(), 1u);
  EXPECT_EQ(seen, (std::vector<int>{7, 7}));
}

TEST(DeferredReleaseTest, NothingIsLostBetweenThreads) {
  constexpr int kThreads = 3;
  constexpr int kEach = 20000;
  std::vector<int> seen;
  released = &seen;
  std::vector<int> values(kThreads * kEach);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = t * kEach; i < (t + 1) * kEach; ++i) {
        values[static_cast<size_t>(i)] = i;
        DeferRelease(Release, &values[static_cast<size_t>(i)]);
      }
    });
  }
  size_t drained = 0;
  while (drained < values.size() / 2) { drained += DrainDeferredReleases(); }
  for (std::thread& thread : threads) { thread.join(); }
  drained += DrainDeferredReleases();
  EXPECT_EQ(drained, values.size());
  // Each thread's own order is kept.
  std::vector<int> last(kThreads, -1);
  for (int value : seen) {
    EXPECT_LT(last[static_cast<size_t>(value / kEach)], value);
    last[static_cast<size_t>(value / kEach)] = value;
  }
}

}  // namespace
}  // namespace lifetime
}  // namespace oneflow
