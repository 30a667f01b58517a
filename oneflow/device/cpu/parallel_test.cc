#include "oneflow/device/cpu/parallel.h"

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#if defined(_OPENMP)
#include <omp.h>
#endif

#include "gtest/gtest.h"
#include "oneflow/common/mutex.h"

namespace oneflow {
namespace cpu {
namespace {

class ScopedThreads {
 public:
  explicit ScopedThreads(int threads) : before_(NumThreads()) { SetNumThreads(threads); }
  ~ScopedThreads() { SetNumThreads(before_); }

 private:
  int before_;
};

TEST(ParallelFor, VisitsEveryChunkOnce) {
  for (int threads : {1, 2, 3}) {
    for (int64_t n : {0, 1, 9, 10, 11, 1000}) {
      std::vector<std::atomic<int>> visits(static_cast<size_t>(n));
      ParallelFor(threads, n, 10, [&](int64_t begin, int64_t end) {
        EXPECT_EQ(begin % 10, 0);
        EXPECT_TRUE(end == begin + 10 || end == n);
        for (int64_t i = begin; i < end; ++i) { ++visits[static_cast<size_t>(i)]; }
      });
      for (auto& count : visits) { ASSERT_EQ(count.load(), 1); }
    }
  }
}

TEST(ThreadsForCost, GivesEachThreadEnoughToDo) {
  const ScopedThreads four(4);
#if defined(_OPENMP)
  EXPECT_EQ(ThreadsForCost(19e3), 1);
  EXPECT_EQ(ThreadsForCost(25e3), 2);
  EXPECT_EQ(ThreadsForCost(1e300), 4);
#else
  EXPECT_EQ(ThreadsForCost(1e300), 1);
#endif
  SetNumThreads(0);
  EXPECT_EQ(NumThreads(), 1);
}

#if defined(_OPENMP)
TEST(ParallelFor, UsesThreads) {
  Mutex mutex;
  std::set<std::thread::id> seen;
  ParallelFor(2, 2, 1, [&](int64_t, int64_t) {
    MutexLock lock(&mutex);
    seen.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(seen.size(), 2u);
}

TEST(ParallelRegion, GivesOpenMpItsThreadsBack) {
  omp_set_num_threads(3);
  {
    const ParallelRegion region(2);
    EXPECT_EQ(omp_get_max_threads(), 2);
    const ParallelRegion inner(1);
    EXPECT_EQ(omp_get_max_threads(), 1);
  }
  EXPECT_EQ(omp_get_max_threads(), 3);
}
#endif

// Two threads never are in regions at the same time; one thread may nest them.
TEST(ParallelRegion, HoldsTheToken) {
  std::atomic<int> inside{0};
  std::atomic<bool> overlapped{false};
  auto work = [&] {
    for (int i = 0; i < 200; ++i) {
      const ParallelRegion region(2);
      const ParallelRegion nested(2);
      if (inside.fetch_add(1) != 0) { overlapped = true; }
      std::this_thread::yield();
      inside.fetch_sub(1);
    }
  };
  std::thread first(work);
  std::thread second(work);
  first.join();
  second.join();
  EXPECT_FALSE(overlapped.load());
}

// A region of one thread does not wait for the token.
TEST(ParallelRegion, OneThreadIsFree) {
  const ParallelRegion region(2);
  std::thread other([] { const ParallelRegion single(1); });
  other.join();
}

}  // namespace
}  // namespace cpu
}  // namespace oneflow
