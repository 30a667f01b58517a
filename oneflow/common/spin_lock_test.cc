#include "oneflow/common/spin_lock.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace oneflow {
namespace {

TEST(SpinLockTest, GuardsACounter) {
  SpinLock lock;
  int64_t counter = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50000; ++i) {
        SpinLockHolder holder(&lock);
        ++counter;
      }
    });
  }
  for (std::thread& thread : threads) { thread.join(); }
  EXPECT_EQ(counter, 200000);
}

}  // namespace
}  // namespace oneflow
