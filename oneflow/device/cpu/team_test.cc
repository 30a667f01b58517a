#include "oneflow/device/cpu/team.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#if defined(_OPENMP)
#include <omp.h>
#endif

#include "gtest/gtest.h"

namespace oneflow {
namespace cpu {
namespace {

cpu_set_t Only(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  return set;
}

std::vector<int> CoresOf(const cpu_set_t& set) {
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) { cores.push_back(core); }
  }
  return cores;
}

cpu_set_t Allowed(pid_t thread) {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(sched_getaffinity(thread, sizeof(set), &set), 0);
  return set;
}

// A thread that polls until it is destroyed, first of all on `core`, though free to leave.
class Polling {
 public:
  explicit Polling(int core)
      : thread_([this, core] {
          const cpu_set_t allowed = Allowed(0);
          const cpu_set_t only = Only(core);
          EXPECT_EQ(sched_setaffinity(0, sizeof(only), &only), 0);
          id_ = static_cast<pid_t>(syscall(SYS_gettid));
          while (!free_) {}
          EXPECT_EQ(sched_setaffinity(0, sizeof(allowed), &allowed), 0);
          freed_ = true;
          while (!stop_) { ++laps_; }
        }) {
    while (id_ == 0) { std::this_thread::yield(); }
  }
  ~Polling() {
    Free();
    stop_ = true;
    thread_.join();
  }
  void Free() {
    free_ = true;
    while (!freed_) { std::this_thread::yield(); }
  }
  pid_t id() const { return id_; }

 private:
  std::atomic<pid_t> id_{0};
  std::atomic<bool> free_{false}, freed_{false}, stop_{false};
  std::atomic<uint64_t> laps_{0};
  std::thread thread_;
};

TEST(PushFromCore, LeavesTheMaskAsItWas) {
  const std::vector<int> cores = CoresOf(Allowed(0));
  Polling polling(cores[0]);
  polling.Free();
  EXPECT_EQ(PushFromCore(polling.id(), cores[0]), cores.size() > 1);
  EXPECT_EQ(CoresOf(Allowed(polling.id())), cores);
}

TEST(PushFromCore, DoesNotTouchAPinnedThread) {
  const int core = CoresOf(Allowed(0))[0];
  Polling polling(core);
  EXPECT_FALSE(PushFromCore(polling.id(), core));
  EXPECT_FALSE(PushFromCore(polling.id(), core + 1));
  EXPECT_EQ(CoresOf(Allowed(polling.id())), std::vector<int>{core});
}

TEST(PushFromCore, RefusesWhatIsNoThreadOfThisProcess) {
  EXPECT_FALSE(PushFromCore(1, 0));
  pid_t ended = 0;
  std::thread([&] { ended = static_cast<pid_t>(syscall(SYS_gettid)); }).join();
  EXPECT_FALSE(PushFromCore(ended, 0));
}

#if defined(_OPENMP)

// A worker that is pushed leaves the core of the thread that keeps it from running. The team is put
// on one core first, which is what the scheduler does to it where no core is idle.
TEST(AssembleTeam, BringsWorkersToOtherCores) {
  const cpu_set_t allowed = Allowed(0);
  const std::vector<int> cores = CoresOf(allowed);
  if (cores.size() < 2) { return; }
  constexpr int kRounds = 50;
  AssembleTeam(2);  // the worker is known from now on
  int apart = 0;
  for (int round = 0; round < kRounds; ++round) {
    int worker_core = -1;
    const cpu_set_t only = Only(cores[0]);
    EXPECT_EQ(sched_setaffinity(0, sizeof(only), &only), 0);
#pragma omp parallel num_threads(2)
    {
      if (omp_get_thread_num() == 1) {
        EXPECT_EQ(sched_setaffinity(0, sizeof(only), &only), 0);
        EXPECT_EQ(sched_setaffinity(0, sizeof(allowed), &allowed), 0);
      }
    }
    AssembleTeam(2);
#pragma omp parallel num_threads(2)
    {
      if (omp_get_thread_num() == 1) { worker_core = sched_getcpu(); }
    }
    if (worker_core != cores[0]) { ++apart; }
  }
  EXPECT_EQ(sched_setaffinity(0, sizeof(allowed), &allowed), 0);
  // Another program may hold the other core now and then.
  EXPECT_GT(apart, kRounds / 2);
}

TEST(AssembleTeam, TakesTeamsOfAnySizeFromAnyThread) {
  auto work = [] {
    for (int threads : {1, 2, 5, 3, 8, 2}) {
      AssembleTeam(threads);
      std::atomic<int> seen{0};
#pragma omp parallel num_threads(threads)
      ++seen;
      EXPECT_EQ(seen, threads);
    }
  };
  std::thread other(work);
  work();
  other.join();
}

TEST(AssembleTeam, IsOneThreadsWithinARegion) {
  std::atomic<int> calls{0};
#pragma omp parallel num_threads(2)
  {
    AssembleTeam(2);
    ++calls;
  }
  EXPECT_EQ(calls, 2);
}

#endif

}  // namespace
}  // namespace cpu
}  // namespace oneflow
